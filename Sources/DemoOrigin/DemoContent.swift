/// Pseudo-random bytes that can be made anywhere without making what stands before them.
///
/// Byte `i` depends on the seed and on `i` alone (SplitMix64 as a counter), so a range costs only its own
/// length, nothing is kept in memory, and a client's copy can be verified against the same function.
struct DemoContent: Sendable, Equatable {
  let seed: UInt64

  /// The bytes of `range`; offsets are not negative.
  func bytes(in range: Range<Int>) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
      let raw = UnsafeMutableRawBufferPointer(buffer)
      var offset = range.lowerBound
      while offset < range.upperBound {
        let word = Self.word(offset / 8, key: key).littleEndian
        let lead = offset % 8
        let length = min(8 - lead, range.upperBound - offset)
        withUnsafeBytes(of: word) { source in
          UnsafeMutableRawBufferPointer(rebasing: raw[count..<(count + length)])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: source[lead..<(lead + length)]))
        }
        offset += length
        count += length
      }
    }
  }

  // Mixed once, so that seeds 1, 2, 3 do not give the same words one step apart.
  private var key: UInt64 { Self.mix(seed) }

  private static func word(_ index: Int, key: UInt64) -> UInt64 {
    // 2⁶⁴ divided by the golden ratio, SplitMix64's own step.
    mix(key &+ UInt64(index) &* 0x9E37_79B9_7F4A_7C15)
  }

  private static func mix(_ value: UInt64) -> UInt64 {
    var value = value
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }
}
