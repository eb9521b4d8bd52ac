import DownloadModel

/// The comparison of one file with the checksum that it must have.
struct Proving: Sendable {
  let expected: ContentDigest
  private var hasher: ContentHasher
  /// Bytes of the file, from its start, that the hasher has taken.
  private var hashed: Int64 = 0

  init(_ expected: ContentDigest) {
    self.expected = expected
    hasher = ContentHasher(expected.algorithm)
  }

  /// Takes bytes that were written at an offset. Those of a part that an earlier run left are not hashed in passing.
  mutating func take(_ bytes: UnsafeRawBufferPointer, at offset: Int64) {
    guard offset == hashed else { return }
    hasher.update(bytes)
    hashed += Int64(bytes.count)
  }

  /// The digest of a file of this length; nil if not all of it went by.
  func digest(of length: Int64) -> ContentDigest? { hashed == length ? hasher.finish() : nil }
}

/// How a whole file compares with its checksum.
enum DigestVerdict: Sendable, Equatable {
  /// Nobody gave a checksum.
  case none
  case match(ContentDigest)
  case mismatch(expected: ContentDigest, found: ContentDigest)
  /// Part of it came before this run: it has to be read.
  case unread

  init(expected: ContentDigest, found: ContentDigest) {
    self = expected == found ? .match(found) : .mismatch(expected: expected, found: found)
  }
}
