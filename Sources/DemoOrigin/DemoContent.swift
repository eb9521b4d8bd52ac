import DownloadModel

/// Pseudo-random bytes. Each follows from the seed and its own offset (SplitMix64 as a counter), so a range costs only
/// its length, nothing is kept, and a copy can be verified.
struct DemoContent: Equatable {
  let seed: UInt64

  /// The bytes of `range`; offsets are not negative.
  func bytes(in range: Range<Int>) -> [UInt8] {
    // Mixed once, so that seeds 1, 2, 3 do not give the same words one step apart.
    let key = SeededGenerator.mix(seed)
    let first = range.lowerBound / 8
    let words = (first..<(range.upperBound + 7) / 8).map {
      SeededGenerator.mix(key &+ UInt64($0) &* SeededGenerator.step).littleEndian
    }
    return words.withUnsafeBytes { Array($0.dropFirst(range.lowerBound - first * 8).prefix(range.count)) }
  }
}
