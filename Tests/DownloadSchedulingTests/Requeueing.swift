import DownloadModel

@testable import DownloadScheduling

// A request without a state of its file and without a next source is requeued.

extension RequestQueueState {
  /// - Returns: `nil` if it is not sent again.
  mutating func requeue(
    _ request: DownloadRequest, share: Int, after error: DownloadError, at now: Duration, random: Double
  ) -> NextAttempt? {
    let file = BackoffEntry(request, TransferMeter())
    return requeue(file, share: share, after: error, next: nil, at: now, random: random).next
  }
}

extension LoopQueue {
  /// - Returns: `nil` if it is not sent again.
  func requeue(_ request: DownloadRequest, after error: DownloadError) -> NextAttempt? {
    requeue(BackoffEntry(request, TransferMeter()), after: error, next: nil).next
  }
}
