import DownloadModel

/// Makes requests from named values: the cells of a row, or the values below a JSON item.
struct RowFields {
  enum Field: Int, CaseIterable {
    case url, name, checksum, size
    /// The archive that contains a file, so that the file is not downloaded on its own.
    case container

    var option: String { "\(self)-field" }
  }

  /// By field.
  typealias Values = [ArraySlice<UInt8>?]

  /// A column's name or number, or a path below an item; several paths are separated by `|`.
  var names: [Field: String] = [:]
  var url: String? {
    get { names[.url] }
    set { names[.url] = newValue }
  }
  /// Fields that a preset named, so that a list may lack them.
  var optional: Set<Field> = []
  /// Used instead of a name: the list's checksums or sizes are ignored.
  static let none = "none"
  /// The separator of several values in one cell; `nil` to detect it.
  var split: UInt8?
  /// Inserted before a value that is a path instead of a URL.
  var prefix: String?
  /// A URL in which `{}` is replaced by the value.
  var template: String?

  /// Whether a value means "none", as is common in tables.
  static func isAbsent(_ value: ArraySlice<UInt8>) -> Bool {
    value.count < 5 && ["", "-", "na", "n/a", "nan", "null", "none"].contains(shown(value).lowercased())
  }

  /// Adds fields of checksums and sizes of its URLs' files that were not named.
  /// - Returns: a message about them.
  mutating func find(in samples: [FieldSample]) -> String? {
    var said: [String] = []
    let url = url ?? ""
    let found = [
      (Field.checksum, FieldSample.checksums(of: samples, beside: url)),
      (.size, FieldSample.sizes(of: samples, beside: url)),
    ]
    for (field, sample) in found {
      guard names[field] == nil, let name = sample?.name else { continue }
      names[field] = name
      said.append("\(field)s from \(ListLine.shown(name))")
    }
    return said.isEmpty ? nil : said.joined(separator: ", ")
  }

  /// - Parameter line: the line where the values start.
  func entries(_ values: Values, line: Int, base: Address?) -> [ListEntry] {
    guard let split = split ?? separator(in: values[0] ?? []) else {
      return [ListEntry(line: line, content: content(values, base))]
    }
    let parts = values.map { value in
      value.map { $0.isEmpty ? [] : $0.split(separator: split, omittingEmptySubsequences: false) } ?? []
    }
    let count = parts[0].count
    // If one value were missing, each file would get another's checksum.
    if let field = Field.allCases.first(where: { ![0, count].contains(parts[$0.rawValue].count) }) {
      let why = "\(names[field] ?? "") has \(parts[field.rawValue].count) values for \(count) URLs"
      return [ListEntry(line: line, content: .bad(.row(why), text: values[0].map(Self.shown) ?? ""))]
    }
    return (0..<count).map { index in
      ListEntry(line: line, content: content(parts.map { $0.isEmpty ? nil : $0[index] }, base))
    }
  }

  /// `host/a;host/b` and `https://h/a;https://g/b` are two URLs each, as in ENA's reports.
  private func separator(in value: ArraySlice<UInt8>) -> UInt8? {
    let semicolon = UInt8.semicolon
    guard prefix == nil, template == nil, value.contains(semicolon) else { return nil }
    let parts = value.split(separator: semicolon)
    let host = (parts.first ?? []).prefix { $0 != .slash }
    let isOfOneHost = host.contains(.dot) && parts.allSatisfy { $0.starts(with: host + [0x2F]) }
    return isOfOneHost || parts.allSatisfy(Self.holdsAddress) ? semicolon : nil
  }

  private static let options = [(Field.name, "out"), (.checksum, "checksum"), (.size, "size")]

  private func content(_ values: Values, _ base: Address?) -> ListLine {
    let line = self.line(values[0] ?? [], base)
    guard case .address(let address, let behindTab) = line else { return line }
    if behindTab != nil { return .bad(.malformed(.controlCharacter), text: address.redacted) }
    var options = LineOptions()
    for (field, option) in Self.options {
      guard let value = values[field.rawValue], field == .name ? !value.isEmpty : !Self.isAbsent(value)
      else { continue }
      let text = String(utf8: value)
      if !options.set(option, text) {
        let why = "its \(names[field] ?? "") cannot be used: \(ListLine.shown(text))"
        let remedy = field == .name ? "" : " (--\(field.option) none ignores it)"
        return .bad(.row(why + remedy), text: address.redacted)
      }
    }
    return .address(address, options == LineOptions() ? nil : options)
  }

  private func line(_ value: ArraySlice<UInt8>, _ base: Address?) -> ListLine {
    if let template { return ListLine(PlainLines.filled(template, with: Array(value))) }
    if value.isEmpty || Self.holdsAddress(value) { return ListLine(value, base: base) }
    if let prefix {
      // Characters that would end or change a path are encoded.
      return ListLine(
        prefix.utf8 + value.flatMap { "%#?".utf8.contains($0) ? Array("%\([$0].hexadecimal)".utf8) : [$0] })
    }
    let host = value.prefix { $0 != .slash }
    let isHost = base == nil && host.count < value.count && host.dropFirst().contains(.dot)
    return isHost ? ListLine("https://".utf8 + value) : ListLine(value, base: base)
  }

  static func holdsAddress(_ bytes: ArraySlice<UInt8>) -> Bool {
    bytes.place(of: "://") != nil || bytes.starts(with: "data:".utf8)
  }

  static func shown(_ bytes: some Collection<UInt8>) -> String {
    ListLine.shown(String(utf8: bytes))
  }
}
