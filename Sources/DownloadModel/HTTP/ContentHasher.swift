import CDigest

/// Computes a digest of bytes as they arrive, with libcrypto's functions for single algorithms: they need no
/// allocation, and a machine's TLS configuration cannot disable them.
package struct ContentHasher: ~Copyable, Sendable {
  package let algorithm: ContentDigest.Algorithm
  private var state = dlm_hash()
  private var crc = ~UInt32(0)

  package init(_ algorithm: ContentDigest.Algorithm) {
    self.algorithm = algorithm
    switch algorithm {
    case .crc32c: break
    case .md5: MD5_Init(&state.md5)
    case .sha1: SHA1_Init(&state.sha1)
    case .sha224: SHA224_Init(&state.sha256)
    case .sha256: SHA256_Init(&state.sha256)
    case .sha384: SHA384_Init(&state.sha512)
    case .sha512: SHA512_Init(&state.sha512)
    }
  }

  package mutating func update(_ bytes: UnsafeRawBufferPointer) {
    switch algorithm {
    case .crc32c: crc = CRC32C.state(crc, after: bytes)
    case .md5: MD5_Update(&state.md5, bytes.baseAddress, bytes.count)
    case .sha1: SHA1_Update(&state.sha1, bytes.baseAddress, bytes.count)
    case .sha224, .sha256: SHA256_Update(&state.sha256, bytes.baseAddress, bytes.count)
    case .sha384, .sha512: SHA512_Update(&state.sha512, bytes.baseAddress, bytes.count)
    }
  }

  package mutating func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { update($0) } }

  /// The digest of the bytes so far; more may follow.
  package func finish() -> ContentDigest {
    if algorithm == .crc32c {
      return ContentDigest(algorithm: algorithm, bytes: withUnsafeBytes(of: (~crc).bigEndian) { Array($0) })
    }
    var state = state
    let bytes = [UInt8](unsafeUninitializedCapacity: algorithm.length) { bytes, count in
      switch algorithm {
      case .crc32c: break
      case .md5: MD5_Final(bytes.baseAddress, &state.md5)
      case .sha1: SHA1_Final(bytes.baseAddress, &state.sha1)
      case .sha224: SHA224_Final(bytes.baseAddress, &state.sha256)
      case .sha256: SHA256_Final(bytes.baseAddress, &state.sha256)
      case .sha384, .sha512: SHA512_Final(bytes.baseAddress, &state.sha512)
      }
      count = algorithm.length
    }
    return ContentDigest(algorithm: algorithm, bytes: bytes)
  }

  package static func digest(_ algorithm: ContentDigest.Algorithm = .sha256, of bytes: [UInt8]) -> ContentDigest {
    var hasher = ContentHasher(algorithm)
    hasher.update(bytes)
    return hasher.finish()
  }

  /// HMAC (RFC 2104) with SHA-256 or SHA-1.
  package static func authenticationCode(
    _ algorithm: ContentDigest.Algorithm = .sha256, of text: [UInt8], key: [UInt8]
  ) -> [UInt8] {
    var block = key.count > Int(SHA256_CBLOCK) ? digest(algorithm, of: key).bytes : key
    block += [UInt8](repeating: 0, count: Int(SHA256_CBLOCK) - block.count)
    let inner = digest(algorithm, of: block.map { $0 ^ 0x36 } + text).bytes
    return digest(algorithm, of: block.map { $0 ^ 0x5C } + inner).bytes
  }

  /// CRC-32C (RFC 9260, appendix A), a checksum that object stores give for their objects.
  enum CRC32C {
    private static let table = (0..<256 as Range<UInt32>).map { index in
      (0..<8).reduce(index) { crc, _ in crc & 1 == 1 ? crc >> 1 ^ 0x82F6_3B78 : crc >> 1 }
    }

    static func state(_ state: UInt32, after bytes: UnsafeRawBufferPointer) -> UInt32 {
      table.withUnsafeBufferPointer { table in
        bytes.reduce(state) { table[Int(UInt8(truncatingIfNeeded: $0) ^ $1)] ^ $0 >> 8 }
      }
    }
  }
}
