import DownloadModel

/// CSV (RFC 4180) or TSV: a cell that begins with a quote ends at the next one that is not doubled. A header and the
/// first row below it tell which columns are wanted.
struct TableRows: ListFormatReader {
  private(set) var line = 0
  private(set) var said: String?
  private let separator: UInt8
  private let fields: RowFields
  private var splitter = LineSplitter()
  private var row = Row()
  /// Until the columns are known.
  private var head: [Row] = []
  /// By field.
  private var columns: [Int?] = []

  private static let quote = UInt8(ascii: "\"")

  private struct Row {
    var line = 0
    var text: [UInt8] = []
    /// Where each cell ends in the text.
    var ends: [Int] = []
    /// Whether a quote is not closed, so that the row goes on.
    var isOpen = false

    var cells: [ArraySlice<UInt8>] { ends.indices.map { text[($0 == 0 ? 0 : ends[$0 - 1])..<ends[$0]] } }

    mutating func add(_ line: [UInt8], _ separator: UInt8) {
      if isOpen { keep([0x0A]) }
      var rest = line[...]
      repeat {
        if !isOpen, rest.first == quote { isOpen = rest.popFirst() != nil }
        while isOpen {
          let quoted = rest.prefix { $0 != quote }
          keep(quoted)
          rest = rest[quoted.endIndex...]
          if rest.popFirst() == nil { return }
          isOpen = rest.first == quote
          if isOpen, let doubled = rest.popFirst() { keep([doubled]) }
        }
        let plain = rest.prefix { $0 != separator }
        rest = rest[plain.endIndex...]
        keep(rest.isEmpty && plain.last == 0x0D ? plain.dropLast() : plain)
        ends.append(text.count)
      } while rest.popFirst() != nil
    }

    private mutating func keep(_ bytes: ArraySlice<UInt8>) { text += bytes.prefix(ListLine.limit + 1 - text.count) }
  }

  init(_ fields: RowFields, separator: Character) {
    (self.fields, self.separator) = (fields, separator.asciiValue ?? 0x09)
  }

  /// - Parameter isAsked: whether the user named a column.
  /// - Returns: nil for what may be a plain list, whatever its name is.
  static func format(of start: [UInt8], named name: String, isAsked: Bool) -> ListFormat? {
    let (header, holdsAddress) = (start.prefix { $0 != 0x0A }, RowFields.holdsAddress)
    let isPlain = header.contains(UInt8(ascii: "=")) || header.first == UInt8(ascii: "#") || holdsAddress(header)
    if isPlain, !isAsked { return nil }
    let file = name.prefix { $0 != "?" && $0 != "#" }.lowercased().replacing(/\.(gz|zst|xz)$/, with: "")
    let isTabbed = header.contains(0x09) || file.hasSuffix(".tsv")
    var table = TableRows(RowFields(), separator: isTabbed ? "\t" : ",")
    let rows = table.rows(in: Array(start.prefix(ListForm.telling))).prefix(2).map(\.cells)
    let isTable =
      rows.count == 2 && rows[0].count > 1 && rows[0].count == rows[1].count
      && (rows[1].contains(where: holdsAddress) || rows[0].contains { RowFields.isKnown(RowFields.shown($0)) })
    guard isTable || isAsked || file.hasSuffix(".csv") || file.hasSuffix(".tsv") else { return nil }
    return isTabbed ? .tsv : .csv
  }

  mutating func take(_ block: [UInt8], base: Address?) throws -> [ListEntry] {
    var rows = self.rows(in: block)
    if columns.isEmpty {
      head += rows
      if head.count < 2, !block.isEmpty { return [] }
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
      if !row.isOpen { row = Row(line: line) }
      row.add(bytes, separator)
      // What was cut off may have closed the quote.
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

  /// - Returns: the rows so far, without the header.
  private mutating func settled() throws(Rejection.NoList) -> [Row] {
    guard let first = head.first else { return [] }
    let cells = first.cells.map(RowFields.shown)
    let numbered = fields.names[.url].flatMap { Int($0) }.flatMap { $0 < 1 ? nil : cells.dropFirst($0 - 1).first }
    // Any path has one of these.
    let isRow = numbered?.contains { ":/.".contains($0) } ?? cells.contains { (try? Address($0)) != nil }
    let isHeader = !isRow || fields.names.values.contains { Int($0) == nil }
    let names = isHeader ? cells : cells.indices.map { "column \($0 + 1)" }
    let rows = Array(head.dropFirst(isHeader ? 1 : 0))
    for field in RowFields.Field.allCases {
      let name = fields.names[field]
      let named = name.flatMap { names.firstIndex(of: $0) ?? Int($0).map { max($0, 0) - 1 } }
      let column = name == nil && field == .url ? try addresses(names, rows.first?.cells ?? []) : named
      if let name, !names.indices.contains(column ?? -1) { throw .field(name, among: isHeader ? names : []) }
      columns.append(column)
    }
    said = columns[0].map { "a table, addresses in \(names[$0])" }
    head = []
    return rows
  }

  /// The column of addresses; of several, the one with a name for it.
  private func addresses(_ names: [String], _ row: [ArraySlice<UInt8>]) throws(Rejection.NoList) -> Int {
    let known = names.indices.filter { RowFields.isKnown(names[$0]) }
    let held = names.indices.filter { $0 < row.count && (try? Address(utf8: Array(row[$0]))) != nil }
    let both = held.filter(known.contains)
    let found = held.isEmpty ? known : held.count > 1 && !both.isEmpty ? both : held
    guard let column = found.first, found.count == 1 else { throw .field(nil, among: found.map { names[$0] }) }
    return column
  }
}
