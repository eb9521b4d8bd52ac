import DownloadModel

/// One segment of a file that is filled in several, as a transfer of its own sees it.
final class SegmentOfDownload: SegmentTarget {
  private let download: FileDownload
  private let id: Int

  init(_ download: FileDownload, _ id: Int) {
    self.download = download
    self.id = id
  }

  func nextTransfer() throws(DownloadError) -> TransferRequest? {
    try download.access { reception throws(DownloadError) in try reception.nextTransfer(for: id) }
  }

  func accept(_ head: ResponseHead) throws(DownloadError) -> BodyDisposition {
    try download.access { reception throws(DownloadError) in try reception.accept(head, for: id) }
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws(DownloadError) -> SinkDemand {
    try download.access { reception throws(DownloadError) in try reception.write(bytes, to: id) }
  }

  func finish(_ receipt: TransferReceipt) throws(DownloadError) -> Bool {
    try download.access { reception throws(DownloadError) in try reception.finish(receipt, of: id) }
  }
}

/// Gathers the small buffers in which bytes arrive into blocks worth a system call: libcurl delivers at most 16 KiB at
/// a time, and for file systems a long write costs half as much a byte.
struct BlockBuffer: Sendable {
  /// Blocks end at multiples of this in the file. A SIGKILL loses at most one block of a segment.
  static let length = 256 * 1024

  private var bytes: [UInt8] = []

  /// How many bytes are buffered.
  var count: Int { bytes.count }

  /// Takes as much as fits before the block's end.
  /// - Parameter offset: the offset in the file of the first of these bytes, just behind the buffered ones.
  /// - Returns: how many bytes were taken.
  mutating func take(_ piece: UnsafeRawBufferPointer, at offset: Int64) -> Int {
    let taken = min(Self.length - Int(offset % Int64(Self.length)), piece.count)
    if bytes.isEmpty { bytes.reserveCapacity(Self.length) }
    bytes.append(contentsOf: piece.prefix(taken))
    return taken
  }

  /// Whether a block ends at this offset.
  static func ends(at offset: Int64) -> Bool { offset % Int64(length) == 0 }

  /// Passes the buffered bytes to `body` without a copy. The buffer is empty afterwards, also if `body` throws.
  mutating func drain<Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Void
  ) throws(Failure) {
    defer { bytes.removeAll(keepingCapacity: true) }
    // `withUnsafeBytes` does not carry typed throws, so the failure is carried out by hand.
    var failure: Failure?
    bytes.withUnsafeBytes { waiting in
      do throws(Failure) { try body(waiting) } catch { failure = error }
    }
    if let failure { throw failure }
  }
}

/// When the metadata of a split file must be written again, so that a SIGKILL loses little of it. Pure.
struct MetadataPace: Sendable, Equatable {
  /// Bytes that reached the file since the metadata was written, by segment.
  private var written: [Int: Int64] = [:]
  /// Bytes of all further segments that have arrived since the metadata was written.
  private var arrived: Int64 = 0

  /// Bytes of one segment that the metadata may lack. Together with a buffered block, a SIGKILL then loses less than 1
  /// MiB of a segment.
  private static let most: Int64 = (1 << 20) - 2 * Int64(BlockBuffer.length)

  /// - Returns: whether the metadata is due.
  mutating func wrote(_ bytes: Int64, of id: Int) -> Bool {
    written[id, default: 0] += bytes
    return written[id, default: 0] >= Self.most
  }

  /// Counts bytes of a further segment that arrived. Of many slow segments none fills a block for a long time, and once
  /// more than half of 8 MiB was lost so. A large file may lose more, because its metadata would otherwise be written
  /// all the time.
  /// - Parameter total: length of the whole file.
  /// - Returns: whether it is time to flush the buffer of every segment and write the metadata.
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
