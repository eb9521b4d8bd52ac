import Crypto
import DownloadModel

/// Takes a file's bytes as they come and gives their digest.
struct ContentHasher: Sendable {
  private enum State {
    case md5(Insecure.MD5)
    case sha1(Insecure.SHA1)
    case sha256(SHA256)
    case sha384(SHA384)
    case sha512(SHA512)
  }

  let algorithm: ContentDigest.Algorithm
  private var state: State

  init(_ algorithm: ContentDigest.Algorithm) {
    self.algorithm = algorithm
    state =
      switch algorithm {
      case .md5: .md5(Insecure.MD5())
      case .sha1: .sha1(Insecure.SHA1())
      case .sha256: .sha256(SHA256())
      case .sha384: .sha384(SHA384())
      case .sha512: .sha512(SHA512())
      }
  }

  mutating func update(_ bytes: UnsafeRawBufferPointer) {
    switch state {
    case .md5(var hash):
      hash.update(bufferPointer: bytes)
      state = .md5(hash)
    case .sha1(var hash):
      hash.update(bufferPointer: bytes)
      state = .sha1(hash)
    case .sha256(var hash):
      hash.update(bufferPointer: bytes)
      state = .sha256(hash)
    case .sha384(var hash):
      hash.update(bufferPointer: bytes)
      state = .sha384(hash)
    case .sha512(var hash):
      hash.update(bufferPointer: bytes)
      state = .sha512(hash)
    }
  }

  func finish() -> ContentDigest? {
    switch state {
    case .md5(let hash): ContentDigest(algorithm, Array(hash.finalize()))
    case .sha1(let hash): ContentDigest(algorithm, Array(hash.finalize()))
    case .sha256(let hash): ContentDigest(algorithm, Array(hash.finalize()))
    case .sha384(let hash): ContentDigest(algorithm, Array(hash.finalize()))
    case .sha512(let hash): ContentDigest(algorithm, Array(hash.finalize()))
    }
  }
}
