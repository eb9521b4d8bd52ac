import DownloadModel

/// One URL a line.
struct PlainLines: ListFormatReader {
  private(set) var line = 0
  private var splitter = LineSplitter()
  private let template: String?
  private let expandsRanges: Bool

  init(template: String?, expandsRanges: Bool) {
    self.template = template
    self.expandsRanges = expandsRanges
  }

  mutating func take(_ block: [UInt8], base: Address?) -> [ListEntry] {
    splitter.take(block).map { bytes in
      line += 1
      let text = template.map { Self.filled($0, with: bytes) } ?? bytes
      if expandsRanges, let entry = ranges(in: text) { return entry }
      let content = ListLine(text, base: base)
      // A blank becomes longer in a URL.
      if case .address(let address, nil) = content, address.key.utf8.count > text.count,
        let word = String(utf8: text).firstMatch(of: Self.option)?.1
      {
        let why = "a tab, not a blank, goes before \(word)=; a blank in a URL is %20"
        return ListEntry(line: line, content: .bad(.row(why), text: address.redacted))
      }
      return ListEntry(line: line, content: content)
    }
  }

  /// - Returns: `nil` for a line without ranges.
  private func ranges(in text: [UInt8]) -> ListEntry? {
    if ListLine.fault(text) != nil { return nil }
    do {
      return try URLRanges(in: text).map { ListEntry(line: line, content: .blank, ranges: $0) }
    } catch { return ListEntry(line: line, content: .bad(error, text: RowFields.shown(text))) }
  }

  private static var option: Regex<(Substring, Substring)> {
    /\s(first|size|out|dir|expect|header|mirror|checksum|md5|sha[0-9]+|crc32c)=/
  }

  /// Encodes all but slashes, because the text may be a path. Options after a tab are kept, and so are blank lines and
  /// invalid text.
  static func filled(_ template: String, with bytes: [UInt8]) -> [UInt8] {
    let line = bytes.trimmed(\.isBlank)
    if line.isEmpty || line.first == .numberSign || ListLine.fault(bytes) != nil { return bytes }
    let text = line.prefix { $0 != 0x09 }
    let word = PercentEncoding.encode(String(utf8: text), keeping: "/")
    return Array(template.replacing("{}", with: word).utf8) + line[text.endIndex...]
  }
}
