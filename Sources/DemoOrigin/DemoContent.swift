import DownloadModel

/// Pseudorandom bytes. Each byte depends only on the seed and its own offset (SplitMix64 as a counter). So the cost of
/// a range is its length, nothing is stored, and a copy can be verified.
struct DemoContent: Equatable {
  let seed: UInt64

  /// The bytes of `range`; offsets are not negative.
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
