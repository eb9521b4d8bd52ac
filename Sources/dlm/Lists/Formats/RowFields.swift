import DownloadModel

/// Makes requests of named values: the cells of a row, or what is below an item of JSON.
struct RowFields: Sendable {
  enum Field: Int, CaseIterable {
    case url, name, checksum, size

    var option: String { "\(self)-field" }
  }

  /// By field.
  typealias Values = [ArraySlice<UInt8>?]

  /// A column's name or number, or a path below an item.
  var names: [Field: String] = [:]
  /// Between several values of one cell.
  var split: UInt8?
  /// Before a value that is no address but a path.
  var prefix: String?

  /// Whether a field is commonly called so that holds addresses.
  static func isKnown(_ name: String) -> Bool {
    ["url", "uri", "href", "link", "download_url", "downloadurl", "file_url", "contenturl", "fastq_ftp"]
      .contains(name.lowercased())
  }

  /// - Parameter line: where they begin.
  func entries(_ values: Values, line: Int, base: Address?) -> [ListEntry] {
    guard let split else { return [ListEntry(line: line, content: content(values, base))] }
    let parts = values.map { value in
      value.map { $0.isEmpty ? [] : $0.split(separator: split, omittingEmptySubsequences: false) } ?? []
    }
    let count = parts[0].count
    // With one value too few, each file would get another's checksum.
    if let field = Field.allCases.first(where: { ![0, count].contains(parts[$0.rawValue].count) }) {
      let why = "\(names[field] ?? "") has \(parts[field.rawValue].count) values for \(count) addresses"
      return [ListEntry(line: line, content: .bad(.row(why), text: values[0].map(Self.shown) ?? ""))]
    }
    return (0..<count).map { index in
      ListEntry(line: line, content: content(parts.map { $0.isEmpty ? nil : $0[index] }, base))
    }
  }

  private static let options = [(Field.name, "out"), (.checksum, "checksum"), (.size, "size")]

  private func content(_ values: Values, _ base: Address?) -> ListLine {
    let line = self.line(values[0] ?? [], base)
    guard case .address(let address, let behindTab) = line else { return line }
    if behindTab != nil { return .bad(.malformed(.controlCharacter), text: address.redacted) }
    var options = LineOptions()
    for (field, option) in Self.options {
      guard let value = values[field.rawValue], !value.isEmpty else { continue }
      let text = String(decoding: value, as: UTF8.self)
      if !options.set(option, text) {
        return .bad(.row("its \(names[field] ?? "") cannot be used: \(ListLine.shown(text))"), text: address.redacted)
      }
    }
    return .address(address, options == LineOptions() ? nil : options)
  }

  private func line(_ value: ArraySlice<UInt8>, _ base: Address?) -> ListLine {
    if value.isEmpty || Self.holdsAddress(value) { return ListLine(value, base: base) }
    if let prefix {
      // What would end a path, or change it, is encoded.
      return ListLine(
        prefix.utf8 + value.flatMap { "%#?".utf8.contains($0) ? Array("%\([$0].hexadecimal)".utf8) : [$0] })
    }
    let host = value.prefix { $0 != UInt8(ascii: "/") }
    let isHost = base == nil && host.count < value.count && host.dropFirst().contains(UInt8(ascii: "."))
    return isHost ? ListLine("https://".utf8 + value) : ListLine(value, base: base)
  }

  static func holdsAddress(_ bytes: ArraySlice<UInt8>) -> Bool {
    // Not by `firstRange`, which costs ten times what an address does.
    bytes.indices.contains { bytes[$0] == UInt8(ascii: ":") && bytes[$0...].starts(with: "://".utf8) }
      || bytes.starts(with: "data:".utf8)
  }

  static func shown(_ bytes: some Collection<UInt8>) -> String {
    ListLine.shown(String(decoding: bytes, as: UTF8.self))
  }
}
