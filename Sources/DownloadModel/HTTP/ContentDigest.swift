import FoundationEssentials

/// A checksum of a file's bytes.
public struct ContentDigest: Sendable, Hashable, CustomStringConvertible {
  /// Of two algorithms, the longer is the stronger.
  public enum Algorithm: String, Sendable, CaseIterable {
    case crc32c, md5, sha1, sha224, sha256, sha384, sha512

    /// CRC-32C, MD5 and SHA-1 detect accidental changes; they do not, or no longer, withstand an attacker.
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
  /// As many bytes as the algorithm has.
  public let bytes: [UInt8]

  /// The bytes as lower-case hexadecimal digits.
  public var hex: String { bytes.hexadecimal }
  /// Such as `sha256:9f86…`.
  public var description: String { "\(algorithm.rawValue):\(hex)" }
}

extension ContentDigest {
  /// - Returns: `nil` if the length is not the algorithm's.
  package init?(_ algorithm: Algorithm, _ bytes: [UInt8]) {
    guard bytes.count == algorithm.length else { return nil }
    self.init(algorithm: algorithm, bytes: bytes)
  }

  /// From hexadecimal digits of either case.
  public init?(_ algorithm: Algorithm, hex: some StringProtocol) {
    let digits = hex.utf8.compactMap(PercentEncoding.digit)
    guard digits.count == hex.utf8.count, digits.count == algorithm.length * 2 else { return nil }
    self.init(algorithm, stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] })
  }

  package init?(_ algorithm: Algorithm, base64: some StringProtocol) {
    guard let bytes = Data(base64Encoded: String(base64)) else { return nil }
    self.init(algorithm, Array(bytes))
  }

  /// From hexadecimal digits alone, whose number identifies the algorithm; `nil` for fewer than 32 digits.
  package init?(hex: some StringProtocol) {
    let count = hex.utf8.count
    guard count >= 32, let algorithm = Algorithm.allCases.first(where: { $0.length * 2 == count }) else { return nil }
    self.init(algorithm, hex: hex)
  }

  /// From the notations of publishers: `sha256:HEX`, as in `description`; `sha-256=BASE64`; `multihash:1220HEX`, also
  /// without the name; the strongest of `sha256-BASE64 sha512-BASE64` (Subresource Integrity); or hexadecimal digits
  /// alone.
  public init?(_ text: some StringProtocol) {
    let digests = text.split(separator: " ").compactMap { Self.read(String($0)) }
    guard let strongest = digests.max(by: { $0.algorithm.length < $1.algorithm.length }) else { return nil }
    self = strongest
  }

  private static func read(_ text: String) -> Self? {
    let text = text.prefix(4).lowercased() == "sha-" ? "sha\(text.dropFirst(4))" : text
    guard let mark = text.firstIndex(where: { ":=-".contains($0) }) else {
      return Self(hex: text) ?? Self(multihash: text)
    }
    let name = text[..<mark].lowercased()
    let value = text[text.index(after: mark)...]
    if name == "multihash" { return Self(multihash: value) }
    // apt writes MD5Sum.
    guard let algorithm = Algorithm(rawValue: name == "md5sum" ? "md5" : name) else { return nil }
    return Self(algorithm, hex: value) ?? Self(algorithm, base64: value.prefix { $0 != "?" })
  }

  /// The algorithms' numbers in multicodec's table, with the lengths.
  private static let multihashes: [(start: String, algorithm: Algorithm)] = [
    ("1114", .sha1), ("1220", .sha256), ("1340", .sha512), ("2030", .sha384), ("d50110", .md5),
  ]

  private init?(multihash text: some StringProtocol) {
    let kind = Self.multihashes.first { text.lowercased().hasPrefix($0.start) }
    guard let kind else { return nil }
    self.init(kind.algorithm, hex: text.dropFirst(kind.start.count))
  }
}

extension Sequence<UInt8> {
  /// Two lower-case hexadecimal digits for each byte.
  package var hexadecimal: String {
    func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }
    return String(utf8: flatMap { [digit($0 >> 4), digit($0 & 15)] })
  }
}
