import FoundationEssentials

/// CRC-32C (RFC 9260, appendix A), a checksum that object stores give for their objects.
enum CRC32C {
  private static let table = (0..<256 as Range<UInt32>).map { index in
    (0..<8).reduce(index) { crc, _ in crc & 1 == 1 ? crc >> 1 ^ 0x82F6_3B78 : crc >> 1 }
  }

  static func state(_ state: UInt32, after bytes: UnsafeRawBufferPointer) -> UInt32 {
    table.withUnsafeBufferPointer { table in
      bytes.reduce(state) { table[Int(UInt8(truncatingIfNeeded: $0) ^ $1)] ^ $0 >> 8 }
    }
  }
}
