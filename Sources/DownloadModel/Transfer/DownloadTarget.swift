/// A download in flight, which knows its missing bytes. As a target it is the file's first segment; further segments
/// can be filled in parallel.
package protocol DownloadTarget: SegmentTarget, AnyObject {
  /// Returns, once, a transfer that outlived the task that started it; it must be awaited instead of starting another.
  func takeRunning() -> RunningTransfer?

  /// The segments with missing bytes, in the order of the file; empty while its length is unknown.
  var openSegments: [OpenSegment] { get }

  /// Takes the end of a segment from the transfer that fills it, or all of a segment without a transfer.
  /// - Parameter offset: behind the position of the old segment, or at it if the segment has no transfer.
  /// - Returns: the new segment; `nil` if the old one has changed meanwhile, or cannot be divided there.
  func takeSegment(of id: Int, from offset: Int64) throws(DownloadError) -> (id: Int, target: any SegmentTarget)?

  /// Sets the size of the requests for a further segment, from the next request on.
  func ask(for size: RequestSize)

  /// Records that the server does not give ranges of the file, or not soon enough, so that no further segment starts.
  func refuseSegments()

  /// Records that no transfer fills the segment any more, so that another may download its missing bytes.
  /// - Throws: `.disk`, `.diskFull` if bytes that had arrived could not be written.
  func release(_ segment: Int) throws(DownloadError)
}
