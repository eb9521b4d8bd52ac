/// CRC-32C (RFC 9260, appendix A): what object stores say of what they hold.
struct CRC32C: Sendable {
  private static let table = (0..<256 as Range<UInt32>).map { index in
    (0..<8).reduce(index) { crc, _ in crc & 1 == 1 ? crc >> 1 ^ 0x82F6_3B78 : crc >> 1 }
  }
  private var state = ~UInt32(0)

  mutating func update(_ bytes: UnsafeRawBufferPointer) {
    state = Self.table.withUnsafeBufferPointer { table in
      bytes.reduce(state) { table[Int(UInt8(truncatingIfNeeded: $0) ^ $1)] ^ $0 >> 8 }
    }
  }

  /// The most significant first, as it is written.
  var bytes: [UInt8] { withUnsafeBytes(of: (~state).bigEndian) { Array($0) } }
}
