import DownloadModel

/// CSV (RFC 4180) or TSV: a cell that starts with a quote ends at the next quote that is not doubled. The header and
/// the first rows show which columns are needed.
struct TableRows: ListFormatReader {
  private(set) var line = 0
  private(set) var said: String?
  private(set) var used: String?
  private let separator: UInt8
  private var fields: RowFields
  private var splitter = LineSplitter()
  private var row = Row()
  /// Rows until the columns are known.
  private var head: [Row] = []
  /// By field.
  private var columns: [Int?] = []

  private static let mostSampled = 8

  private struct Row {
    var line = 0
    var text: [UInt8] = []
    /// The end of each cell in the text.
    var ends: [Int] = []
    /// Whether a quote is still open, so that the row continues.
    var isOpen = false

    var cells: [ArraySlice<UInt8>] { ends.indices.map { text[($0 == 0 ? 0 : ends[$0 - 1])..<ends[$0]] } }

    mutating func add(_ line: [UInt8], _ separator: UInt8) {
      if isOpen { text.keep([0x0A]) }
      var rest = line[...]
      repeat {
        if !isOpen, rest.first == .quote { isOpen = rest.popFirst() != nil }
        while isOpen {
          let quoted = rest.prefix { $0 != .quote }
          text.keep(quoted)
          rest = rest[quoted.endIndex...]
          if rest.popFirst() == nil { return }
          isOpen = rest.first == .quote
          if isOpen, let doubled = rest.popFirst() { text.keep([doubled]) }
        }
        let plain = rest.prefix { $0 != separator }
        rest = rest[plain.endIndex...]
        text.keep(rest.isEmpty && plain.last == 0x0D ? plain.dropLast() : plain)
        ends.append(text.count)
      } while rest.popFirst() != nil
    }
  }

  init(_ fields: RowFields, separator: UInt8) {
    self.fields = fields
    self.separator = separator
  }

  /// The separator of cells: as declared by a first line `sep=;`, else the more frequent of comma and semicolon.
  static func separator(of start: [UInt8]) -> UInt8 {
    let header = start.prefix { $0 != 0x0A }
    if let declared = declared(in: header) { return declared }
    let plain = header.split(separator: .quote, omittingEmptySubsequences: false).enumerated()
      .filter { $0.offset.isMultiple(of: 2) }.flatMap(\.element)
    let comma = UInt8.comma
    let semicolon = UInt8.semicolon
    return plain.count { $0 == semicolon } > plain.count { $0 == comma } ? semicolon : comma
  }

  /// Excel's `sep=;`, which precedes the header.
  private static func declared(in line: some Sequence<UInt8>) -> UInt8? {
    let text = line.filter { $0 != .quote && $0 != 0x0D && $0 < 0x80 }
    return text.count == 5 && text.starts(with: "sep=".utf8) ? text[4] : nil
  }

  /// - Parameter isAsked: whether the user named a column.
  /// - Returns: `nil` if it may be a plain list, whatever its name is.
  static func format(of start: [UInt8], named name: String, isAsked: Bool) -> ListFormat? {
    let header = start.prefix { $0 != 0x0A }
    let holdsAddress = RowFields.holdsAddress
    if declared(in: header) != nil { return .csv }
    let isPlain = header.contains(.equals) || header.first == .numberSign || holdsAddress(header)
    if isPlain, !isAsked { return nil }
    let file = name.prefix { $0 != "?" && $0 != "#" }.lowercased().replacing(/\.(gz|zst|xz)$/, with: "")
    let isTabbed = header.contains(0x09) || file.hasSuffix(".tsv")
    var table = TableRows(RowFields(), separator: isTabbed ? 0x09 : separator(of: start))
    let rows = table.rows(in: Array(start.prefix(ListForm.telling))).prefix(2).map(\.cells)
    let isTable =
      rows.count == 2 && rows[0].count > 1 && rows[0].count == rows[1].count
      && (rows[1].contains(where: holdsAddress) || rows[0].contains { FieldSample.isKnown(RowFields.shown($0)) })
    guard isTable || isAsked || file.hasSuffix(".csv") || file.hasSuffix(".tsv") else { return nil }
    return isTabbed ? .tsv : .csv
  }

  mutating func take(_ block: [UInt8], base: Address?) throws -> [ListEntry] {
    var rows = self.rows(in: block)
    if columns.isEmpty {
      head += rows
      if sampled == nil, !block.isEmpty { return [] }
      rows = try settled()
    }
    var entries = rows.flatMap { self.entries(of: $0, base) }
    if block.isEmpty, row.isOpen {
      line = row.line - 1
      entries.append(ListEntry(line: row.line, content: .bad(.damaged("a quote is never closed"), text: "")))
    }
    return entries
  }

  private mutating func rows(in block: [UInt8]) -> [Row] {
    splitter.take(block).compactMap { bytes in
      line += 1
      if line == 1, Self.declared(in: bytes) != nil { return nil }
      if !row.isOpen { row = Row(line: line) }
      row.add(bytes, separator)
      // The part that was cut off may have closed the quote.
      if bytes.count > ListLine.limit { row = Row(line: row.line, text: bytes) }
      return row.isOpen || row.text.isEmpty && row.ends.count < 2 ? nil : row
    }
  }

  private func entries(of row: Row, _ base: Address?) -> [ListEntry] {
    let cells = row.cells
    let values = columns.map { column in column.flatMap { $0 < cells.count ? cells[$0] : nil } }
    if row.text.count <= ListLine.limit, values[0] != nil { return fields.entries(values, line: row.line, base: base) }
    let reason = row.text.count > ListLine.limit ? Rejection.Reason.tooLong : .malformed(.empty)
    return [ListEntry(line: row.line, content: .bad(reason, text: RowFields.shown(row.text.prefix(80))))]
  }

  // MARK: Columns

  /// How many of the first rows show the purpose of the columns, independent of block boundaries: until each column has
  /// a value, within a limit; `nil` if more rows are needed.
  private var sampled: Int? {
    guard let width = head.first?.ends.count, head.count > 1 else { return nil }
    var empty = Set(0..<width)
    for (index, row) in head.enumerated().dropFirst() {
      for (column, cell) in row.cells.enumerated() where !RowFields.isAbsent(cell) { empty.remove(column) }
      if empty.isEmpty || index == Self.mostSampled { return index + 1 }
    }
    return nil
  }

  /// - Returns: the rows so far, without the header.
  private mutating func settled() throws(Rejection.NoList) -> [Row] {
    guard let first = head.first else { return [] }
    let cells = first.cells.map(RowFields.shown)
    let numbered = fields.url.flatMap(Int.init).flatMap { $0 < 1 ? nil : cells.dropFirst($0 - 1).first }
    // Any path contains one of these.
    let isRow = numbered?.contains { ":/.".contains($0) } ?? cells.contains { (try? Address($0)) != nil }
    let isHeader = !isRow || fields.names.values.contains { Int($0) == nil && $0 != RowFields.none }
    let names = isHeader ? cells : cells.indices.map { "column \($0 + 1)" }
    let rows = Array(head.dropFirst(isHeader ? 1 : 0))
    for field in RowFields.Field.allCases {
      guard let name = fields.names[field], name != RowFields.none else { continue }
      let number = names.firstIndex(of: name) ?? Int(name).map { max($0, 0) - 1 } ?? -1
      fields.names[field] = names.indices.contains(number) ? names[number] : nil
      if fields.names[field] == nil, !fields.optional.contains(field) {
        throw .field(name, among: isHeader ? names : [], option: field.option)
      }
    }
    try find(names, rows.prefix((sampled ?? head.count) - (isHeader ? 1 : 0)).map(\.cells))
    columns = RowFields.Field.allCases.map { field in fields.names[field].flatMap { names.firstIndex(of: $0) } }
    head = []
    return rows
  }

  /// Finds the columns that the user did not name.
  private mutating func find(_ names: [String], _ rows: [[ArraySlice<UInt8>]]) throws(Rejection.NoList) {
    let samples = names.indices.map { column in
      FieldSample(names[column], rows.compactMap { column < $0.count ? $0[column] : nil })
    }
    if fields.url == nil {
      guard let found = try FieldSample.urls(of: samples) else { throw .field(nil, among: names) }
      fields.url = found.name
      said = "a table, URLs in \(found.name)"
    }
    used = fields.find(in: samples)
  }
}
