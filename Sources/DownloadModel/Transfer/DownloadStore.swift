/// Stores finished files and the parts of unfinished ones: `open` answers a request or returns a download, transfers
/// fill it, `commit` verifies it and gives it its name. Every download must be committed or closed exactly once.
package protocol DownloadStore: Sendable {
  associatedtype Download: DownloadTarget

  /// Answers a request from memory or from disk, or starts its download. Concurrent equal requests are coalesced: one
  /// task fills the download, the others wait here; if it is cancelled, another continues with the transfer in flight.
  /// - Throws: `.cancelled` as soon as the calling task is; a failure of disk or index, or of the equal request.
  nonisolated(nonsending) func open(
    _ request: DownloadRequest, meter: TransferMeter
  ) async throws(DownloadError) -> OpenedDownload<Download>

  /// `open` without a wait, which most requests do not need. A call that may wait keeps memory until the file ends.
  /// - Returns: `nil` if it needs a wait; then the request is as if never opened, and `open` must follow.
  func openAtOnce(_ request: DownloadRequest, meter: TransferMeter) throws(DownloadError) -> OpenedDownload<Download>?

  /// Finishes a download: a complete file is verified, named and recorded, one that its server confirmed is renewed in
  /// the index, and a skipped one is dropped.
  /// - Returns: `nil` to download it once more: its checksum is wrong, or the file that the server confirmed no longer
  ///   exists.
  /// - Throws: `.digest`, `.unproven`; `.disk`, `.diskFull`, `.folder`, `.conflict`. The download must then be closed.
  nonisolated(nonsending) func commit(_ download: Download) async throws(DownloadError) -> DownloadOutcome?

  /// `commit` without a wait.
  /// - Returns: `nil` if it needs a wait, or the file must be downloaded once more; then `commit` must follow.
  func commitAtOnce(_ download: Download) throws(DownloadError) -> DownloadOutcome?

  /// Ends an unfinished download; keeps the part if it can be resumed. If its task was cancelled and equal requests
  /// wait for it, one of them continues it.
  /// - Parameter comesAgain: whether the request is opened again later: then no older answer is looked for.
  /// - Returns: an older answer that may be used instead (RFC 5861); `nil` without one: then the download failed.
  nonisolated(nonsending) func close(
    _ download: Download, after error: DownloadError, comesAgain: Bool
  ) async -> DownloadOutcome?
}

extension DownloadStore {
  package func openAtOnce(
    _ request: DownloadRequest, meter: TransferMeter
  ) throws(DownloadError) -> OpenedDownload<Download>? { nil }

  package func commitAtOnce(_ download: Download) throws(DownloadError) -> DownloadOutcome? { nil }
}

package enum OpenedDownload<Download: DownloadTarget>: Sendable {
  case answered(DownloadOutcome)
  /// Must be filled, and then committed or closed.
  case missing(Download)
}
