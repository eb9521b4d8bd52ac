import DownloadModel

/// A file that waits for its next attempt, with the state it continues with. A class, so that other files copy only
/// `nil`.
final class BackoffEntry: Sendable {
  let request: DownloadRequest
  let meter: TransferMeter
  let attempts: Attempts
  /// Since its first attempt; `nil` if no time limit needs it.
  let stopwatch: Stopwatch?
  let delay: Duration

  init(
    _ request: DownloadRequest, _ meter: TransferMeter, _ attempts: Attempts = Attempts(),
    _ stopwatch: Stopwatch? = nil, delay: Duration = .zero
  ) {
    self.request = request
    self.meter = meter
    self.attempts = attempts
    self.stopwatch = stopwatch
    self.delay = delay
  }
}
