/// SipHash-2-4 (Aumasson and Bernstein, 2012): a short hash that nobody without the key can compute.
///
/// Swift's own Hasher takes a new key in every process, so its values cannot be kept on disk.
enum SipHash {
  static func hash(_ bytes: [UInt8], key: (UInt64, UInt64)) -> UInt64 {
    var state = State(key)
    var rest = bytes[...]
    while rest.count >= 8 {
      state.take(word(rest.prefix(8)))
      rest = rest.dropFirst(8)
    }
    state.take(word(rest) | UInt64(bytes.count & 0xFF) << 56)
    return state.finish()
  }

  /// Little-endian, zero-padded.
  static func word(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  private struct State {
    var v0, v1, v2, v3: UInt64

    init(_ key: (UInt64, UInt64)) {
      v0 = key.0 ^ 0x736f_6d65_7073_6575
      v1 = key.1 ^ 0x646f_7261_6e64_6f6d
      v2 = key.0 ^ 0x6c79_6765_6e65_7261
      v3 = key.1 ^ 0x7465_6462_7974_6573
    }

    mutating func take(_ word: UInt64) {
      v3 ^= word
      round()
      round()
      v0 ^= word
    }

    mutating func finish() -> UInt64 {
      v2 ^= 0xFF
      for _ in 0..<4 { round() }
      return v0 ^ v1 ^ v2 ^ v3
    }

    private mutating func round() {
      v0 &+= v1
      v1 = Self.rotate(v1, 13) ^ v0
      v0 = Self.rotate(v0, 32)
      v2 &+= v3
      v3 = Self.rotate(v3, 16) ^ v2
      v0 &+= v3
      v3 = Self.rotate(v3, 21) ^ v0
      v2 &+= v1
      v1 = Self.rotate(v1, 17) ^ v2
      v2 = Self.rotate(v2, 32)
    }

    private static func rotate(_ value: UInt64, _ bits: UInt64) -> UInt64 {
      value << bits | value >> (64 - bits)
    }
  }
}
