import CDigest

/// Takes bytes as they come and gives their digest (OpenSSL's `EVP_DigestUpdate(3)`).
///
/// Sendable although it holds a C handle, since the handle has one owner: the value cannot be copied, no other type
/// sees the handle, and only `deinit` frees it. Without memory for a hash the process ends, as it does wherever Swift
/// allocates.
public struct ContentHasher: ~Copyable, @unchecked Sendable {
  public let algorithm: ContentDigest.Algorithm
  private let context = EVP_MD_CTX_new()

  public init(_ algorithm: ContentDigest.Algorithm) {
    self.algorithm = algorithm
    // The context keeps the function.
    let function = EVP_MD_fetch(Library.own.context, algorithm.rawValue, nil)
    defer { EVP_MD_free(function) }
    precondition(EVP_DigestInit_ex2(context, function, nil) == 1)
  }

  deinit { EVP_MD_CTX_free(context) }

  public mutating func update(_ bytes: UnsafeRawBufferPointer) {
    // Its only failure is that of a context that has ended, and this one never ends.
    EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
  }

  public mutating func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { update($0) } }

  /// The digest of the bytes so far; more may come.
  public func finish() -> ContentDigest {
    let copy = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(copy) }
    let bytes = [UInt8](unsafeUninitializedCapacity: algorithm.length) { bytes, count in
      var length: CUnsignedInt = 0
      precondition(EVP_MD_CTX_copy_ex(copy, context) == 1)
      precondition(EVP_DigestFinal_ex(copy, bytes.baseAddress, &length) == 1)
      count = Int(length)
    }
    return ContentDigest(unchecked: algorithm, bytes)
  }

  public static func digest(
    _ algorithm: ContentDigest.Algorithm = .sha256, of bytes: [UInt8]
  ) -> ContentDigest {
    var hasher = ContentHasher(algorithm)
    hasher.update(bytes)
    return hasher.finish()
  }

  /// HMAC with SHA-256 (RFC 2104).
  /// - Returns: 32 bytes.
  public static func authenticationCode(of text: [UInt8], key: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: ContentDigest.Algorithm.sha256.length) { bytes, count in
      let made = EVP_Q_mac(
        Library.own.context, "HMAC", nil, "SHA256", nil, key, key.count, text, text.count,
        bytes.baseAddress, bytes.count, &count)
      precondition(made != nil)
    }
  }

  /// A context of its own, which no configuration file changes: what a machine allows for TLS is not what a publisher's
  /// checksum is made with. Sendable, since OpenSSL guards it by locks of its own.
  private struct Library: @unchecked Sendable {
    static let own = Library()

    let context = OSSL_LIB_CTX_new()
  }
}
