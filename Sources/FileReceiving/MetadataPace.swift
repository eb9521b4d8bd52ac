/// Decides when the metadata of a split file must be written again, so that a SIGKILL loses little. Pure.
struct MetadataPace: Equatable {
  // Since the last write of the metadata: bytes written to the file, by segment; bytes received for further segments.
  private var written: [Int: Int64] = [:]
  private var arrived: Int64 = 0

  /// Bytes of one segment that the metadata may lack. With a buffered block, a SIGKILL loses less than 1 MiB of a
  /// segment.
  private static let most: Int64 = (1 << 20) - 2 * Int64(BlockBuffer.length)

  /// - Returns: whether the metadata is due.
  mutating func wrote(_ bytes: Int64, of id: Int) -> Bool {
    written[id, default: 0] += bytes
    return written[id, default: 0] >= Self.most
  }

  /// Counts received bytes of further segments: many slow ones fill no block for a long time. A large file may lose 8
  /// MiB.
  /// - Returns: whether to flush every segment's buffer and write the metadata.
  mutating func received(_ bytes: Int64, ofFileOf total: Int64) -> Bool {
    arrived += bytes
    return arrived >= max(1 << 20, min(8 << 20, total / 256))
  }

  /// - Parameter waiting: bytes of further segments that are still in buffers.
  mutating func metadataWritten(waiting: Int64) {
    written = [:]
    arrived = waiting
  }
}
