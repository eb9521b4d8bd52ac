/// Buffers received bytes, because a long write costs half as much per byte. libcurl delivers at most 16 KiB at a time.
struct BlockBuffer {
  /// Blocks end at multiples of this in the file. A SIGKILL loses at most one block of a segment.
  static let length = 256 * 1024

  private var bytes: [UInt8] = []

  var count: Int { bytes.count }

  /// Buffers as many bytes as fit before the block's end, and returns their number.
  /// - Parameter offset: of the first of these bytes in the file, directly after the buffered ones.
  mutating func take(_ piece: UnsafeRawBufferPointer, at offset: Int64) -> Int {
    let taken = min(Self.length - Int(offset % Int64(Self.length)), piece.count)
    if bytes.isEmpty { bytes.reserveCapacity(Self.length) }
    bytes.append(contentsOf: piece.prefix(taken))
    return taken
  }

  static func ends(at offset: Int64) -> Bool { offset % Int64(length) == 0 }

  /// Passes the buffered bytes to `body` without a copy. The buffer is empty afterwards, also if `body` throws.
  mutating func drain<Failure: Error>(_ body: (UnsafeRawBufferPointer) throws(Failure) -> Void) throws(Failure) {
    defer { bytes.removeAll(keepingCapacity: true) }
    try bytes.span.bytes.withUnsafeBytes(body)
  }
}
