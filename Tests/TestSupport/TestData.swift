import Glibc

/// A small, fast generator with a seed (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators):
/// equal seeds give equal test data on every machine.
package struct SplitMix64: RandomNumberGenerator, Sendable {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// Bytes of a test file. A shorter file of the same seed is a prefix of a longer one.
  package static func bytes(count: Int, seed: UInt64) -> [UInt8] {
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

/// Bytes that differ from place to place, so that a shifted or repeated part is noticed: a block of a prime
/// length again and again, which a debug build makes much faster than `SplitMix64.bytes`.
package func pattern(_ count: Int, seed: UInt8 = 0) -> [UInt8] {
  let block = (0..<4093).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) &+ seed }
  var bytes: [UInt8] = []
  bytes.reserveCapacity(count + block.count)
  while bytes.count < count { bytes += block }
  return Array(bytes.prefix(count))
}

extension [UInt8] {
  /// As the standard library's, whose code compares a byte at a time where tests are built without optimization:
  /// for whole files that takes as long as fetching them.
  package static func == (one: Self, other: Self) -> Bool {
    one.count == other.count
      && one.withUnsafeBytes { one in
        other.withUnsafeBytes { other in
          guard let left = one.baseAddress, let right = other.baseAddress else { return true }
          return memcmp(left, right, one.count) == 0
        }
      }
  }
}

extension Sequence<UInt8> {
  /// Where these bytes first differ from others, in words; nil if they are equal.
  ///
  /// For whole files: `#expect(a == b)` on megabytes spends minutes on describing what is different.
  package func firstDifference(from expected: some Sequence<UInt8>) -> String? {
    var offset = 0
    var others = expected.makeIterator()
    for byte in self {
      guard let other = others.next() else { return "there is more than the \(offset) bytes expected" }
      if byte != other { return "byte \(offset) is \(byte), not \(other)" }
      offset += 1
    }
    return others.next() == nil ? nil : "it ends after \(offset) bytes"
  }
}
