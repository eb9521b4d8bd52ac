import Crypto
import DownloadModel

/// Takes a file's bytes as they come and gives their digest.
struct ContentHasher: Sendable {
  let algorithm: ContentDigest.Algorithm
  private var hash: any HashFunction & Sendable

  init(_ algorithm: ContentDigest.Algorithm) {
    self.algorithm = algorithm
    hash =
      switch algorithm {
      case .md5: Insecure.MD5()
      case .sha1: Insecure.SHA1()
      case .sha256: SHA256()
      case .sha384: SHA384()
      case .sha512: SHA512()
      }
  }

  mutating func update(_ bytes: UnsafeRawBufferPointer) { hash.update(bufferPointer: bytes) }

  func finish() -> ContentDigest? { ContentDigest(algorithm, Self.bytes(of: hash)) }

  private static func bytes(of hash: some HashFunction) -> [UInt8] { Array(hash.finalize()) }
}
