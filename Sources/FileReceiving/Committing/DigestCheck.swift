import DownloadModel

/// The comparison of one file with its expected checksum, if it has one.
struct DigestCheck: ~Copyable, Sendable {
  let expected: ContentDigest?
  private var hasher: ContentHasher?
  /// The number of bytes hashed so far, from the start of the file.
  private var hashed: Int64 = 0

  init(_ expected: ContentDigest?) {
    self.expected = expected
    if let expected { hasher = ContentHasher(expected.algorithm) }
  }

  /// Hashes bytes only if they follow those hashed so far. Bytes that an earlier run left are not hashed here.
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
