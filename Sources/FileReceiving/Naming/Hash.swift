import DownloadModel

/// A hash that is equal in every run, unlike Swift's own: names must not differ from run to run.
enum Hash {
  /// FNV-1a over the bytes; the bits are then mixed as in SplitMix64.
  static func of(_ bytes: some Collection<UInt8>) -> UInt64 {
    // Reading a text's bytes one by one takes ten times as long as reading the same bytes in memory.
    SeededGenerator.mix(bytes.withContiguousStorageIfAvailable { fnv($0) } ?? fnv(bytes))
  }

  private static func fnv(_ bytes: some Sequence<UInt8>) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    return hash
  }
}
