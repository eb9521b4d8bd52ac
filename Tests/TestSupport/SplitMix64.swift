/// A small, fast generator with a seed (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators):
/// equal seeds give equal test data on every machine.
public struct SplitMix64: RandomNumberGenerator, Sendable {
  private var state: UInt64

  public init(seed: UInt64) { state = seed }

  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// Bytes of a test file. A shorter file of the same seed is a prefix of a longer one.
  public static func bytes(count: Int, seed: UInt64) -> [UInt8] {
    var generator = SplitMix64(seed: seed)
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      let raw = UnsafeMutableRawBufferPointer(buffer)
      var offset = 0
      while offset + 8 <= count {
        raw.storeBytes(of: generator.next().littleEndian, toByteOffset: offset, as: UInt64.self)
        offset += 8
      }
      var rest = generator.next()
      while offset < count {
        raw[offset] = UInt8(truncatingIfNeeded: rest)
        rest >>= 8
        offset += 1
      }
      initialized = count
    }
  }
}
