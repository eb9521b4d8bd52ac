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
