import DownloadModel

/// A file after a failed attempt, with the state it continues with. A class, so that other files copy only `nil`.
final class BackoffEntry: Sendable {
  let request: DownloadRequest
  let meter: TransferMeter
  let attempts: Attempts
  /// Since its first attempt; `nil` if no time limit needs it.
  let stopwatch: Stopwatch?
  let decision: RetryDecision

  init(
    _ request: DownloadRequest, _ meter: TransferMeter, _ attempts: Attempts = Attempts(),
    _ stopwatch: Stopwatch? = nil, _ decision: RetryDecision = .fail
  ) {
    self.request = request
    self.meter = meter
    self.attempts = attempts
    self.stopwatch = stopwatch
    self.decision = decision
  }
}
