import DownloadModel

/// One file of the demonstration origin. Its bytes are computed from the seed; nothing is stored.
package struct DemoFile: Sendable, Equatable {
  /// Absolute path as in a URL, percent-encoded where needed: `/archives/site.tar.gz`.
  package let path: String
  /// Length in bytes.
  package let size: Int
  package let seed: UInt64

  package init(path: String, size: Int, seed: UInt64) {
    self.path = path
    self.size = size
    self.seed = seed
  }

  /// A strong entity tag with its quotes (RFC 9110 §8.8.3): the bytes depend only on seed and length.
  package var entityTag: String { "\"\(String(seed, radix: 16))-\(String(size, radix: 16))\"" }

  /// Seconds since 1970: a minute of a day in 2024 for each seed, old enough for a strong date (RFC 9110 §8.8.2.2).
  var lastModified: Int64 { 1_717_236_000 + Int64(seed % 1440) * 60 }

  /// The bytes of `range`, whose offsets are not negative. Each byte is pseudorandom, and depends only on the seed and
  /// its own offset (SplitMix64 as a counter). So the cost of a range is its length, nothing is stored, and a copy can
  /// be verified.
  func bytes(in range: Range<Int>) -> [UInt8] {
    // Mixed once; otherwise seeds 1, 2, 3 would give the same words, shifted by one.
    let key = SeededGenerator.mix(seed)
    let first = range.lowerBound / 8
    let words = (first..<(range.upperBound + 7) / 8).map {
      SeededGenerator.mix(key &+ UInt64($0) &* SeededGenerator.step).littleEndian
    }
    return words.withUnsafeBytes { Array($0.dropFirst(range.lowerBound - first * 8).prefix(range.count)) }
  }
}
