package import DownloadModel
import Synchronization

/// The checksums of a list such as SHA256SUMS, and which of them a run has used. By file name, without the folders of
/// `./pool/x.deb`; where two lines give one name different checksums of one algorithm, neither is used.
package final class ChecksumList: Sendable {
  private let entries: [ByteText: ContentDigest]
  /// Of names beyond ASCII by canonical equivalence, where one alone is meant: a list made where names are decomposed
  /// has another form of them.
  private let alike: [String: ByteText]
  private let used = Lock<Set<ByteText>>([])
  /// Numbers, from 1, of lines that are neither checksums, comments nor blank.
  package let malformedLines: [Int]
  /// Names whose lines contradict each other.
  package let ambiguousNames: [String]
  /// An algorithm of its lines that is not known.
  package let unknownAlgorithm: String?

  package init(_ text: [UInt8]) {
    var entries: [ByteText: ContentDigest] = [:]
    var ambiguous: Set<ByteText> = []
    var malformed: [Int] = []
    var unknown: String?
    let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      switch ChecksumLine(String(utf8: line)) {
      case .blank: break
      case .malformed: malformed.append(index + 1)
      case .unknown(let algorithm):
        malformed.append(index + 1)
        unknown = algorithm
      case .entry(let path, let digest):
        let name = ByteText(path.utf8.split(separator: UInt8(ascii: "/")).last.map(Substring.init) ?? "")
        if let other = entries[name], other.algorithm == digest.algorithm, other != digest { ambiguous.insert(name) }
        // A list may hold several algorithms: the strongest counts.
        if digest.algorithm.length >= entries[name]?.algorithm.length ?? 0 { entries[name] = digest }
      }
    }
    for name in ambiguous { entries[name] = nil }
    self.entries = entries
    unknownAlgorithm = unknown
    alike = Dictionary(grouping: entries.keys.filter { !$0.text.utf8.allSatisfy { $0 < 0x80 } }, by: \.text)
      .compactMapValues { $0.count == 1 ? $0[0] : nil }
    malformedLines = malformed
    ambiguousNames = ambiguous.sorted().map(\.text)
  }

  package var count: Int { entries.count }

  /// The checksum of a file, which counts as used.
  package func digest(of name: String) -> ContentDigest? {
    let exact = ByteText(name)
    let name = entries[exact] == nil ? alike[name] ?? exact : exact
    guard let digest = entries[name] else { return nil }
    used.withLock { _ = $0.insert(name) }
    return digest
  }

  /// Names that no file of the run had.
  package var unusedNames: [String] {
    let used = used.withLock { $0 }
    return entries.keys.filter { !used.contains($0) }.sorted().map(\.text)
  }
}

/// One line of a checksum list, as coreutils' `sha256sum` (`HEX name`, `HEX *name`) and BSD's `sha256` (`SHA256 (name)
/// = HEX`) write it. A backslash before the line says that the name is escaped.
package enum ChecksumLine: Equatable {
  case blank
  case malformed
  /// As BSD's, of an algorithm that is not known.
  case unknown(String)
  case entry(path: String, ContentDigest)

  /// Reads bytes, because a combining mark after a blank or slash would form one `Character` with it.
  package init(_ line: String) {
    var line = line.utf8[...]
    if line.last == UInt8(ascii: "\r") { line.removeLast() }
    if line.allSatisfy(OptionalWhiteSpace.contains) || line.first == UInt8(ascii: "#") {
      self = .blank
      return
    }
    let isEscaped = line.first == UInt8(ascii: "\\")
    if isEscaped { line.removeFirst() }
    guard let (name, digest) = Self.coreutils(line) ?? Self.bsd(line), name.contains(where: { $0 != UInt8(ascii: "/") })
    else {
      let tag = Substring(line.prefix { $0.isLetterOrDigit || $0 == UInt8(ascii: "-") })
      let isKnown = ContentDigest.Algorithm(rawValue: tag.lowercased().replacing("-", with: "")) != nil
      let isTagged = !tag.isEmpty && !isKnown && Substring(line[tag.endIndex...]).contains(/^ \(.+\) = ./)
      self = isTagged ? .unknown(String(tag)) : .malformed
      return
    }
    let path = isEscaped ? Self.unescaped(name) : Array(name)
    self = .entry(path: String(utf8: path), digest)
  }

  private static func coreutils(_ line: Substring.UTF8View) -> (Substring.UTF8View, ContentDigest)? {
    guard let blank = line.firstIndex(of: UInt8(ascii: " ")), let digest = ContentDigest(hex: Substring(line[..<blank]))
    else { return nil }
    // One blank, then a blank (text) or an asterisk (binary). Some tools write only one blank.
    var name = line[line.index(after: blank)...]
    if let mark = name.first, mark == UInt8(ascii: " ") || mark == UInt8(ascii: "*") { name.removeFirst() }
    return name.isEmpty ? nil : (name, digest)
  }

  private static func bsd(_ line: Substring.UTF8View) -> (Substring.UTF8View, ContentDigest)? {
    guard let open = line.firstRange(of: " (".utf8), let close = line.ranges(of: ") = ".utf8).last,
      open.upperBound <= close.lowerBound,
      let algorithm = ContentDigest.Algorithm(
        rawValue: String(utf8: line[..<open.lowerBound].filter { $0 != UInt8(ascii: "-") })
          .lowercased()),
      let digest = ContentDigest(algorithm, hex: Substring(line[close.upperBound...]))
    else { return nil }
    return (line[open.upperBound..<close.lowerBound], digest)
  }

  private static func unescaped(_ name: Substring.UTF8View) -> [UInt8] {
    var text = [UInt8]()
    var rest = name
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "\\") else {
        text.append(byte)
        continue
      }
      let marks = [UInt8(ascii: "n"): UInt8(ascii: "\n"), UInt8(ascii: "r"): UInt8(ascii: "\r")]
      if let escaped = rest.popFirst() { text.append(marks[escaped] ?? escaped) }
    }
    return text
  }
}
