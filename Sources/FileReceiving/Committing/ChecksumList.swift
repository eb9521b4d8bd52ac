package import DownloadModel
import Synchronization

/// The checksums of a list such as SHA256SUMS, and which of them a run has used. By file name, without the folders of
/// `./pool/x.deb`. If two lines give one name different checksums of one algorithm, neither is used.
package final class ChecksumList: Sendable {
  private let entries: [ByteText: ContentDigest]
  /// Names beyond ASCII by canonical equivalence, if unambiguous: a list from a file system that decomposes names has
  /// other bytes for them.
  private let alike: [String: ByteText]
  private let used = Lock<Set<ByteText>>([])
  /// Numbers, from 1, of lines that are neither checksums, comments nor blank.
  package let malformedLines: [Int]
  /// Names with contradicting lines.
  package let ambiguousNames: [String]
  /// An unknown algorithm that a line names; `nil` if all are known.
  package let unknownAlgorithm: String?

  package init(_ text: [UInt8]) {
    var entries: [ByteText: ContentDigest] = [:]
    var ambiguous: Set<ByteText> = []
    var malformed: [Int] = []
    var unknown: String?
    let lines = text.split(separator: .newline, omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      switch ChecksumLine(String(utf8: line)) {
      case .blank: break
      case .malformed: malformed.append(index + 1)
      case .unknown(let algorithm):
        malformed.append(index + 1)
        unknown = algorithm
      case .entry(let path, let digest):
        let name = ByteText(path.utf8.split(separator: .slash).last.map(Substring.init) ?? "")
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

  /// The checksum of a file, which is then marked as used.
  package func digest(of name: String) -> ContentDigest? {
    let exact = ByteText(name)
    let name = entries[exact] == nil ? alike[name] ?? exact : exact
    guard let digest = entries[name] else { return nil }
    used.withLock { _ = $0.insert(name) }
    return digest
  }

  /// Names that no file of the run has.
  package var unusedNames: [String] {
    let used = used.withLock { $0 }
    return entries.keys.filter { !used.contains($0) }.sorted().map(\.text)
  }
}
