import DownloadModel
import Glibc
import Synchronization

/// The comparison of one file with the checksum that it must have, if there is one.
struct DigestCheck: ~Copyable, Sendable {
  let expected: ContentDigest?
  private var hasher: ContentHasher?
  /// Bytes of the file, from its start, that the hasher has taken.
  private var hashed: Int64 = 0

  init(_ expected: ContentDigest?) {
    self.expected = expected
    if let expected { hasher = ContentHasher(expected.algorithm) }
  }

  /// Hashes bytes only if they follow those hashed so far: what an earlier run left is not hashed here.
  mutating func take(_ bytes: UnsafeRawBufferPointer, at offset: Int64) {
    guard offset == hashed, hasher != nil else { return }
    hasher?.update(bytes)
    hashed += Int64(bytes.count)
  }

  func verdict(of length: Int64) -> DigestVerdict? {
    guard let expected else { return nil }
    switch hasher {
    case .some(let hasher) where hashed == length: return DigestVerdict(expected: expected, found: hasher.finish())
    default: return .unread(expected)
    }
  }
}
