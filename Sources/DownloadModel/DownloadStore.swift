/// Stores finished files and the parts of unfinished ones: `open` answers a request or returns a download, transfers
/// fill it, `commit` verifies it and gives it its name. Every download must be committed or closed exactly once.
package protocol DownloadStore: Sendable {
  associatedtype Download: DownloadTarget

  /// Answers a request from memory or from disk, or begins its download. Equal requests at one time are coalesced: one
  /// task fills the download, the others wait here; if it is cancelled, another goes on with the transfer in flight.
  /// - Throws: `.cancelled` as soon as the calling task is; a failure of disk or index, or of the equal request.
  nonisolated(nonsending) func open(
    _ request: DownloadRequest, meter: TransferMeter
  ) async throws(DownloadError) -> OpenedDownload<Download>

  /// Verifies a download that has all its bytes, gives it its final name, and remembers it.
  /// - Returns: nil to fetch it once more: its checksum is wrong, or the file that the server vouched for is gone.
  /// - Throws: `.digest`, `.unproven`; `.disk`, `.diskFull`, `.folder`, `.conflict`. The download must then be closed.
  nonisolated(nonsending) func commit(_ download: Download) async throws(DownloadError) -> DownloadOutcome?

  /// Ends a download that did not finish; keeps the part if it can be resumed. If its task was cancelled and equal
  /// requests wait for it, one of them continues it.
  /// - Parameter comesAgain: whether the request is opened again later: then no older answer is looked for.
  /// - Returns: an older answer that may be used instead (RFC 5861); nil for none: then the download failed.
  nonisolated(nonsending) func close(
    _ download: Download, after error: DownloadError, comesAgain: Bool
  ) async -> DownloadOutcome?
}

package enum OpenedDownload<Download: DownloadTarget>: Sendable {
  case answered(DownloadOutcome)
  /// Must be filled, and then committed or closed.
  case missing(Download)
}

/// What one transfer at a time fills: a whole file, or a segment of it.
package protocol SegmentTarget: ByteSink {
  /// The request that the next attempt must send: whole, ranged or conditional, by what is on disk now.
  /// - Returns: nil if no bytes are left to request.
  func nextTransfer() throws(DownloadError) -> TransferRequest?

  /// Judges the end of a transfer that was complete by the protocol. Must be called once for each.
  /// - Returns: false if the server sent less than was asked for; to ask for the rest is then not a retry.
  func finish(_ receipt: TransferReceipt) throws(DownloadError) -> Bool
}

/// A download in flight, which knows which bytes it lacks. As a target it is the file's first segment; further ones can
/// be filled at the same time.
package protocol DownloadTarget: SegmentTarget, AnyObject {
  /// Returns, once, a transfer that outlived the task that began it; it must be awaited instead of starting another.
  func takeRunning() -> RunningTransfer?

  /// The segments that have bytes still to arrive, in the order of the file; empty while its length is unknown.
  var openSegments: [OpenSegment] { get }

  /// Takes the end of a segment from the transfer that fills it, or all of a segment that no transfer fills.
  /// - Parameter offset: behind the position of the old segment, or at it if no transfer fills that one.
  /// - Returns: the new segment; nil if the old one has changed meanwhile, or cannot be divided there.
  func takeSegment(of id: Int, from offset: Int64) throws(DownloadError) -> (id: Int, target: any SegmentTarget)?

  /// Sets how much of a further segment is asked for at a time, from the next request on.
  func ask(for size: RequestSize)

  /// Notes that the server gives no ranges of the file, or not soon enough, so that no further segment is begun.
  func refuseSegments()

  /// Notes that no transfer fills the segment any more, so that another may fetch what it lacks.
  /// - Throws: `.disk`, `.diskFull` when bytes that had arrived could not be written.
  func release(_ segment: Int) throws(DownloadError)
}

/// A segment of a file, with the bytes that are still to arrive.
package struct OpenSegment: Sendable, Equatable, Identifiable {
  /// The number of the segment at the start of the file, which the download's own target fills.
  package static let first = 0

  package let id: Int
  /// Offset in the file of the next byte to come.
  package var position: Int64
  /// Offset behind the last byte.
  package var end: Int64
  package var isTaken: Bool
  /// Offset behind the bytes that the current request must bring: another transfer can take what lies behind it. The
  /// first request of a file has no end, so for the first segment this is `position`.
  package var asked: Int64

  package init(id: Int, position: Int64, end: Int64, isTaken: Bool, asked: Int64? = nil) {
    self.id = id
    self.position = position
    self.end = end
    self.isTaken = isTaken
    self.asked = asked ?? position
  }

  package var length: Int64 { end - position }
}

/// How much of a segment one request asks for. While much is missing it is never all, so that a transfer that becomes
/// free can take what no other has asked for, and no connection is broken off with bytes on their way.
package struct RequestSize: Sendable, Equatable {
  /// The segment's missing bytes are divided by this: a half, a quarter.
  package var divisor: Int64
  /// In bytes. If less than twice as many are missing, one request asks for all of them.
  package var least: Int64

  package static let smallest: Int64 = 1 << 20

  package init(divisor: Int64, least: Int64) {
    self.divisor = max(1, divisor)
    self.least = max(Self.smallest, least)
  }

  /// Offset behind the last byte to ask for.
  package func end(from position: Int64, to end: Int64) -> Int64 {
    let size = max(least, (end - position) / divisor)
    return end - position - size < least ? end : position + size
  }
}
