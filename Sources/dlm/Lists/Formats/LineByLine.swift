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
        try ListLine.fault(bytes).map { [$0] } ?? rule.take(String(decoding: bytes, as: UTF8.self), base: base)
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
    if text.withLock({
      $0 += block; return $0.count > Self.limit
    }) {
      throw Errno.fileTooLarge
    }
    return []
  }
}

/// The addresses in any text, each once a line.
struct TextLines: LineRule {
  func take(_ text: String, base: Address?) -> [ListLine] {
    var (found, rest) = ([String](), text[...])
    while let start = ["http://", "https://"].compactMap({ rest.firstRange(of: $0)?.lowerBound }).min() {
      var address = rest[start...].prefix { !$0.isWhitespace && !"<>\"`{}|\\^“”«»".contains($0) }
      rest = rest[address.endIndex...]
      // What ends the sentence around it, or closes a bracket before it.
      func closes(_ mark: Character, _ opening: Character) -> Bool {
        address.last == mark && address.count { $0 == mark } > address.count { $0 == opening }
      }
      while let last = address.last, ".,;:!?'*’。，".contains(last) || closes(")", "(") || closes("]", "[") {
        address.removeLast()
      }
      if !found.contains(String(address)) { found.append(String(address)) }
    }
    // What looks like one in prose and is none is no fault of the text's.
    return found.map { ListLine(Array($0.utf8)) }.filter { $0.address != nil }
  }
}
