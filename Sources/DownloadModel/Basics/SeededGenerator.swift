/// Pseudorandom numbers that are equal for equal seeds: SplitMix64 (Steele, Lea, Flood 2014).
package struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  /// 2⁶⁴ divided by the golden ratio: the distance between two states.
  package static let step: UInt64 = 0x9E37_79B9_7F4A_7C15

  package init(_ seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= Self.step
    return Self.mix(state)
  }

  /// Maps neighbouring numbers to unrelated ones.
  package static func mix(_ number: UInt64) -> UInt64 {
    var number = number
    number = (number ^ number >> 30) &* 0xBF58_476D_1CE4_E5B9
    number = (number ^ number >> 27) &* 0x94D0_49BB_1331_11EB
    return number ^ number >> 31
  }
}
