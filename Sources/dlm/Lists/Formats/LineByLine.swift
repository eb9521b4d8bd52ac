import DownloadModel
import Synchronization
import SystemPackage

/// What the lines of a list mean, in a format that is read line by line.
protocol LineRule {
  var said: String? { get }
  /// What the list says of its files that dlm does not do; each once.
  var passedOver: [String] { get }

  /// - Parameter text: a line without its end.
  /// - Returns: what is known with it, perhaps of the lines before.
  mutating func take(_ text: String, base: Address?) throws(Rejection.NoList) -> [ListLine]
  /// - Returns: what was left open for more lines.
  mutating func end() -> [ListLine]
}

extension LineRule {
  var said: String? { nil }
  var passedOver: [String] { [] }
  mutating func end() -> [ListLine] { [] }
}

struct LineByLine<Rule: LineRule>: ListFormatReader {
  private(set) var line = 0
  var said: String? { rule.said }
  var note: String? {
    rule.passedOver.isEmpty ? nil : "dlm does not do, and passed over: \(rule.passedOver.joined(separator: ", "))"
  }
  private var splitter = LineSplitter()
  private var rule: Rule

  init(_ rule: Rule) { self.rule = rule }

  mutating func take(_ block: [UInt8], base: Address?) throws -> [ListEntry] {
    var entries: [ListEntry] = []
    for var bytes in splitter.take(block) {
      line += 1
      if bytes.last == 0x0D { bytes.removeLast() }
      let content =
        try ListLine.fault(bytes).map { [$0] } ?? rule.take(String(utf8: bytes), base: base)
      entries += content.map { ListEntry(line: line, content: $0) }
    }
    return block.isEmpty ? entries + rule.end().map { ListEntry(line: line, content: $0) } : entries
  }
}

/// All that a list says, where that is no list of requests.
final class WholeText: ListFormatReader, Sendable {
  /// In bytes: two million checksums. What is longer may have no end (`/dev/zero`).
  static let limit = 256 << 20
  let line = 0
  private let text = Lock([UInt8]())
  var bytes: [UInt8] { text.withLock { $0 } }

  func take(_ block: [UInt8], base: Address?) throws -> [ListEntry] {
    try text.withLock { text in
      text += block
      if text.count > Self.limit { throw Errno.fileTooLarge }
    }
    return []
  }
}

/// The addresses in any text, each once a line.
struct TextLines: LineRule {
  func take(_ text: String, base: Address?) -> [ListLine] {
    var found: [ListLine] = []
    var seen: Set<ByteText> = []
    var rest = text[...]
    // One search alone, as a second one might go to the end of the line each time.
    while let start = rest.firstRange(of: "http")?.lowerBound {
      rest = rest[start...]
      guard rest.hasPrefix("http://") || rest.hasPrefix("https://") else {
        rest = rest.dropFirst(4)
        continue
      }
      let word = rest.prefix { !$0.isWhitespace && !"<>\"`{}|\\^“”«»".contains($0) }
      rest = rest[word.endIndex...]
      let address = ByteText(Self.withoutEnd(word))
      // Prose may hold words that only look like a URL; they are no error.
      if seen.insert(address).inserted, case let line = ListLine(address.text.utf8), line.address != nil {
        found.append(line)
      }
    }
    return found
  }

  /// Without what ends the sentence around it, or closes a bracket before it.
  private static func withoutEnd(_ word: Substring) -> Substring {
    func surplus(_ closing: Character, _ opening: Character) -> Int {
      word.count { $0 == closing } - word.count { $0 == opening }
    }
    var brackets = [Character(")"): surplus(")", "("), "]": surplus("]", "[")]
    var word = word
    while let last = word.last {
      if let left = brackets[last], left > 0 {
        brackets[last] = left - 1
      } else if !".,;:!?'*’。，".contains(last) {
        break
      }
      word.removeLast()
    }
    return word
  }
}

/// An address a line.
struct PlainLines: ListFormatReader {
  private(set) var line = 0
  let isOwnFormat = true
  private var splitter = LineSplitter()
  private let template: String?
  private let expandsRanges: Bool

  init(template: String? = nil, expandsRanges: Bool = false) {
    self.template = template
    self.expandsRanges = expandsRanges
  }

  mutating func take(_ block: [UInt8], base: Address?) -> [ListEntry] {
    splitter.take(block).map { bytes in
      line += 1
      let text = template.map { Self.filled($0, with: bytes) } ?? bytes
      if expandsRanges, let entry = ranges(in: text) { return entry }
      let content = ListLine(text, base: base)
      // A blank is longer in an address.
      if case .address(let address, nil) = content, address.key.utf8.count > text.count,
        let word = String(utf8: text).firstMatch(of: Self.option)?.1
      {
        let why = "a tab, not a blank, goes before \(word)=; a blank in a URL is %20"
        return ListEntry(line: line, content: .bad(.row(why), text: address.redacted))
      }
      return ListEntry(line: line, content: content)
    }
  }

  /// - Returns: nil for a line without any.
  private func ranges(in text: [UInt8]) -> ListEntry? {
    if ListLine.fault(text) != nil { return nil }
    do {
      return try URLRanges(in: text).map { ListEntry(line: line, content: .blank, ranges: $0) }
    } catch { return ListEntry(line: line, content: .bad(.row(error.why), text: RowFields.shown(text))) }
  }

  private static var option: Regex<(Substring, Substring)> {
    /\s(first|size|out|dir|expect|header|mirror|checksum|md5|sha[0-9]+|crc32c)=/
  }

  /// Encoded but for the slash, as the text may be a path. What is behind a tab stays, and what is blank or no text.
  static func filled(_ template: String, with bytes: [UInt8]) -> [UInt8] {
    let line = bytes.trimmed(\.isBlank)
    if line.isEmpty || line.first == UInt8(ascii: "#") || ListLine.fault(bytes) != nil { return bytes }
    let text = line.prefix { $0 != 0x09 }
    let word = PercentEncoding.encode(String(utf8: text), keeping: "/")
    return Array(template.replacing("{}", with: word).utf8) + line[text.endIndex...]
  }
}

/// From blocks of bytes to lines. LF ends a line; a byte-order mark at the start is dropped; an endless line is cut off
/// at ListLine's limit plus one, which refuses it.
struct LineSplitter {
  private var rest: [UInt8] = []
  private var isFirst = true

  /// - Parameter block: an empty one is the end, and gives the last line if it had no LF.
  mutating func take(_ block: [UInt8]) -> [[UInt8]] {
    var lines = [[UInt8]]()
    var start = 0
    while let end = block[start...].firstIndex(of: 0x0A) {
      append(block[start..<end])
      lines.append(rest)
      rest = []
      start = end + 1
    }
    append(block[start...])
    if block.isEmpty, !rest.isEmpty {
      lines.append(rest)
      rest = []
    }
    if isFirst, !lines.isEmpty {
      isFirst = false
      if lines[0].starts(with: [0xEF, 0xBB, 0xBF]) { lines[0].removeFirst(3) }
    }
    return lines
  }

  private mutating func append(_ bytes: ArraySlice<UInt8>) {
    rest += bytes.prefix(max(0, ListLine.limit + 1 - rest.count))
  }
}
