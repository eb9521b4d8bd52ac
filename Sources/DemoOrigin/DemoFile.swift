/// One file of the demonstration origin. Its bytes follow from the seed; nothing is stored.
public struct DemoFile: Sendable, Equatable {
  /// Absolute path as it stands in an address, percent-encoded where needed: `/archives/site.tar.gz`.
  public let path: String
  /// Length in bytes.
  public let size: Int
  public let seed: UInt64

  public init(path: String, size: Int, seed: UInt64) {
    self.path = path
    self.size = size
    self.seed = seed
  }

  /// The bytes that a client must end up with; `range` is cut to the file.
  public func bytes(in range: Range<Int>) -> [UInt8] {
    content.bytes(in: range.clamped(to: 0..<size))
  }

  /// A strong entity tag with its quotes (RFC 9110 §8.8.3): the bytes follow from seed and length alone.
  public var entityTag: String {
    "\"\(String(seed, radix: 16))-\(String(size, radix: 16))\""
  }

  /// Seconds since 1970: a fixed day of 2024, far enough back that it is a strong date (RFC 9110 §8.8.2.2),
  /// and another minute for each seed.
  var lastModified: Int64 { 1_717_236_000 + Int64(seed % 1440) * 60 }

  var content: DemoContent { DemoContent(seed: seed) }
}
