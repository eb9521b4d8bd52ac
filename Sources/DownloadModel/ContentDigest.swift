import CDigest
import FoundationEssentials

/// A checksum of a file's bytes.
public struct ContentDigest: Sendable, Hashable, CustomStringConvertible {
  /// Of two, the longer is the stronger.
  public enum Algorithm: String, Sendable, CaseIterable {
    case crc32c, md5, sha1, sha224, sha256, sha384, sha512

    /// CRC-32C, MD5 and SHA-1 find accidents; they do not, or no longer, withstand an attacker.
    package var findsForgery: Bool { length >= 28 }

    /// Length of a digest in bytes.
    package var length: Int {
      switch self {
      case .crc32c: 4
      case .md5: 16
      case .sha1: 20
      case .sha224: 28
      case .sha256: 32
      case .sha384: 48
      case .sha512: 64
      }
    }
  }

  public let algorithm: Algorithm
  /// As many as the algorithm has.
  public let bytes: [UInt8]

  /// - Returns: nil if the length is not the algorithm's.
  package init?(_ algorithm: Algorithm, _ bytes: [UInt8]) {
    guard bytes.count == algorithm.length else { return nil }
    self.init(unchecked: algorithm, bytes)
  }

  init(unchecked algorithm: Algorithm, _ bytes: [UInt8]) {
    self.algorithm = algorithm
    self.bytes = bytes
  }

  /// From hexadecimal digits of either case.
  public init?(_ algorithm: Algorithm, hex: some StringProtocol) {
    let digits = Array(hex.utf8)
    guard digits.count == algorithm.length * 2 else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard let high = PercentEncoding.digit(digits[index]), let low = PercentEncoding.digit(digits[index + 1])
      else { return nil }
      bytes.append(high << 4 | low)
    }
    self.init(algorithm, bytes)
  }

  package init?(_ algorithm: Algorithm, base64: some StringProtocol) {
    guard let bytes = Data(base64Encoded: String(base64)) else { return nil }
    self.init(algorithm, Array(bytes))
  }

  /// From hexadecimal digits alone, whose number names the algorithm; too few name none.
  package init?(hex: some StringProtocol) {
    let count = hex.utf8.count
    guard count >= 32, let algorithm = Algorithm.allCases.first(where: { $0.length * 2 == count }) else { return nil }
    self.init(algorithm, hex: hex)
  }

  /// From a text as publishers give it: `sha256:HEX`, as `description` does, `sha-256=BASE64`, `multihash:1220HEX` and
  /// that without the name, the strongest of `sha256-BASE64 sha512-BASE64` (Subresource Integrity), or hexadecimal
  /// digits alone.
  public init?(_ text: some StringProtocol) {
    let digests = text.split(separator: " ").compactMap { Self(one: String($0)) }
    guard let strongest = digests.max(by: { $0.algorithm.length < $1.algorithm.length }) else { return nil }
    self = strongest
  }

  private init?(one text: String) {
    let text = text.prefix(4).lowercased() == "sha-" ? "sha\(text.dropFirst(4))" : text
    guard let mark = text.firstIndex(where: { ":=-".contains($0) }) else {
      guard let digest = Self(hex: text) ?? Self(multihash: text) else { return nil }
      self = digest
      return
    }
    let name = text[..<mark].lowercased()
    let value = text[text.index(after: mark)...]
    if name == "multihash" {
      self.init(multihash: value)
      return
    }
    // apt says MD5Sum.
    guard let algorithm = Algorithm(rawValue: name == "md5sum" ? "md5" : name),
      let digest = Self(algorithm, hex: value) ?? Self(algorithm, base64: value.prefix { $0 != "?" })
    else { return nil }
    self = digest
  }

  /// Algorithms' numbers in multicodec's table, and lengths.
  private static let multihashes: [(start: String, algorithm: Algorithm)] = [
    ("1114", .sha1), ("1220", .sha256), ("1340", .sha512), ("2030", .sha384), ("d50110", .md5),
  ]

  private init?(multihash text: some StringProtocol) {
    let kind = Self.multihashes.first { text.lowercased().hasPrefix($0.start) }
    guard let kind else { return nil }
    self.init(kind.algorithm, hex: text.dropFirst(kind.start.count))
  }

  /// The bytes as lower-case hexadecimal digits.
  public var hex: String { bytes.hexadecimal }
  /// Such as `sha256:9f86…`.
  public var description: String { "\(algorithm.rawValue):\(hex)" }
}

/// The hashes of a file's pieces, which are of one length but for the last. They may be long, and are held for nothing
/// that outlives the request.
package final class PieceHashes: Sendable, Equatable {
  /// Of one file: 64 MB of hashes.
  package static let most = 1_000_000

  package let algorithm: ContentDigest.Algorithm
  /// Of a piece, in bytes.
  package let length: Int64
  /// One behind the other.
  package let hashes: [UInt8]
  package var count: Int { hashes.count / algorithm.length }

  package init(_ algorithm: ContentDigest.Algorithm, length: Int64, _ hashes: [UInt8]) {
    self.algorithm = algorithm
    self.length = length
    self.hashes = hashes
  }

  package static func == (left: PieceHashes, right: PieceHashes) -> Bool { left === right }

  /// Whether a file of that length has so many pieces.
  package func cover(_ size: Int64) -> Bool { size > 0 && (size - 1) / length + 1 == count }

  /// - Parameter size: of the file that they cover.
  package func range(of piece: Int, in size: Int64) -> Range<Int64> {
    let start = Int64(piece) * length
    return start..<start + min(length, size - start)
  }
}

extension Sequence<UInt8> {
  /// Two lower-case hexadecimal digits for each byte.
  package var hexadecimal: String {
    func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }
    return String(utf8: flatMap { [digit($0 >> 4), digit($0 & 15)] })
  }
}

/// Takes bytes as they come and gives their digest, by libcrypto's functions of one algorithm each: they need no
/// allocation, and a machine's configuration for TLS does not forbid them.
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

  /// The digest of the bytes so far; more may come.
  package func finish() -> ContentDigest {
    if algorithm == .crc32c {
      return ContentDigest(unchecked: algorithm, withUnsafeBytes(of: (~crc).bigEndian) { Array($0) })
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
    return ContentDigest(unchecked: algorithm, bytes)
  }

  package static func digest(_ algorithm: ContentDigest.Algorithm = .sha256, of bytes: [UInt8]) -> ContentDigest {
    var hasher = ContentHasher(algorithm)
    hasher.update(bytes)
    return hasher.finish()
  }

  /// HMAC with SHA-256 (RFC 2104).
  /// - Returns: 32 bytes.
  package static func authenticationCode(of text: [UInt8], key: [UInt8]) -> [UInt8] {
    var block = key.count > Int(SHA256_CBLOCK) ? digest(of: key).bytes : key
    block += [UInt8](repeating: 0, count: Int(SHA256_CBLOCK) - block.count)
    let inner = digest(of: block.map { $0 ^ 0x36 } + text).bytes
    return digest(of: block.map { $0 ^ 0x5C } + inner).bytes
  }
}

/// CRC-32C (RFC 9260, appendix A): what object stores say of what they hold.
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

/// Numbers that look random and are the same for the same seed: SplitMix64 (Steele, Lea, Flood 2014).
package struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  /// 2⁶⁴ divided by the golden ratio: how far one state is from the next.
  package static let step: UInt64 = 0x9E37_79B9_7F4A_7C15

  package init(_ seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= Self.step
    return Self.mix(state)
  }

  /// Gives neighbours numbers that have nothing to do with each other.
  package static func mix(_ number: UInt64) -> UInt64 {
    var number = number
    number = (number ^ number >> 30) &* 0xBF58_476D_1CE4_E5B9
    number = (number ^ number >> 27) &* 0x94D0_49BB_1331_11EB
    return number ^ number >> 31
  }
}
