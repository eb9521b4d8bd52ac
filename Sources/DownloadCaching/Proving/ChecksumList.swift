import DownloadModel
import Synchronization

/// The checksums of a list such as SHA256SUMS, by file name, and which of them a run has used.
///
/// A list often names files with folders (`./pool/x.deb`); a download has none, so the last segment counts. Where
/// two lines give different checksums for one such name, neither is used.
public final class ChecksumList: Sendable {
  private let entries: [String: ContentDigest]
  private let used = Mutex<Set<String>>([])
  /// Numbers, from 1, of lines that are neither checksums, comments nor blank.
  public let malformedLines: [Int]
  /// Names whose lines contradict each other.
  public let ambiguousNames: [String]

  public init(_ text: [UInt8]) {
    var entries: [String: ContentDigest] = [:]
    var ambiguous: Set<String> = []
    var malformed: [Int] = []
    for (index, line) in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      .enumerated()
    {
      switch ChecksumLine(String(decoding: line, as: UTF8.self)) {
      case .blank: break
      case .malformed: malformed.append(index + 1)
      case .entry(let name, let digest):
        if let other = entries[name], other.algorithm == digest.algorithm, other != digest {
          ambiguous.insert(name)
        }
        // A list may hold several algorithms: the strongest counts.
        if digest.algorithm.length >= entries[name]?.algorithm.length ?? 0 { entries[name] = digest }
      }
    }
    for name in ambiguous { entries[name] = nil }
    self.entries = entries
    malformedLines = malformed
    ambiguousNames = ambiguous.sorted()
  }

  public var count: Int { entries.count }

  /// The checksum of a file, which counts as used.
  func digest(of name: String) -> ContentDigest? {
    guard let digest = entries[name] else { return nil }
    used.withLock { _ = $0.insert(name) }
    return digest
  }

  /// Names that no file of the run had.
  public var unusedNames: [String] {
    let used = used.withLock { $0 }
    return entries.keys.filter { !used.contains($0) }.sorted()
  }
}

/// One line of a checksum list, as coreutils' `sha256sum` (`HEX  name`, `HEX *name`) and BSD's `sha256`
/// (`SHA256 (name) = HEX`) write it. A backslash before the line says that the name is escaped.
enum ChecksumLine: Equatable {
  case blank
  case malformed
  case entry(name: String, ContentDigest)

  init(_ line: String) {
    var line = Substring(line.hasSuffix("\r") ? String(line.dropLast()) : line)
    if line.allSatisfy({ $0 == " " || $0 == "\t" }) || line.hasPrefix("#") {
      self = .blank
      return
    }
    let isEscaped = line.hasPrefix("\\")
    if isEscaped { line = line.dropFirst() }
    guard let (name, digest) = Self.coreutils(line) ?? Self.bsd(line),
      let segment = (isEscaped ? Self.unescaped(name) : String(name)).split(separator: "/").last
    else {
      self = .malformed
      return
    }
    self = .entry(name: String(segment), digest)
  }

  private static func coreutils(_ line: Substring) -> (Substring, ContentDigest)? {
    guard let blank = line.firstIndex(of: " "), let digest = ContentDigest(hex: line[..<blank]) else {
      return nil
    }
    // One blank, then a blank (text) or an asterisk (binary). Some tools write only one blank.
    var name = line[line.index(after: blank)...]
    if let mark = name.first, mark == " " || mark == "*" { name = name.dropFirst() }
    return name.isEmpty ? nil : (name, digest)
  }

  private static func bsd(_ line: Substring) -> (Substring, ContentDigest)? {
    guard let open = line.firstRange(of: " ("), let close = line.ranges(of: ") = ").last,
      open.upperBound <= close.lowerBound,
      let algorithm = ContentDigest.Algorithm(
        rawValue: line[..<open.lowerBound].lowercased().filter { $0 != "-" }),
      let digest = ContentDigest(algorithm, hex: line[close.upperBound...])
    else { return nil }
    return (line[open.upperBound..<close.lowerBound], digest)
  }

  private static func unescaped(_ name: Substring) -> String {
    var text = ""
    var isEscaped = false
    for character in name {
      switch (isEscaped, character) {
      case (false, "\\"):
        isEscaped = true
        continue
      case (true, "n"): text.append("\n")
      case (true, "r"): text.append("\r")
      default: text.append(character)
      }
      isEscaped = false
    }
    return text
  }
}
