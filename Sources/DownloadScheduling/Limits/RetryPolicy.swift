package import DownloadModel

/// When a failed attempt is retried. Pure (HTTP rules 11, 12).
package struct RetryPolicy: Sendable, Equatable {
  /// Attempts after the first.
  package var retries: Int
  /// No retry begins later than this after the first attempt; nil for no limit.
  package var maxTime: Duration?
  /// A file that is not whole so long after its first attempt fails for good; nil for no limit.
  package var fileTime: Duration?

  /// The longest first pause, doubled at each failure. Half of four such is 8.25 s, which outlives a server's restart.
  private static let base = Duration.milliseconds(1100)
  /// As `base`, when the server's answer was a refusal (429, 503).
  private static let busyBase = Duration.seconds(2)
  /// No pause is longer than this, unless the server asks for it.
  private static let cap = Duration.seconds(30)
  /// A longer pause that a server asks for is only waited for if `maxTime` allows it: that is the user's decision.
  private static let longestPause = Duration.seconds(600)

  package init(retries: Int = 5, maxTime: Duration? = nil, fileTime: Duration? = nil) {
    (self.retries, self.maxTime, self.fileTime) = (retries, maxTime, fileTime)
  }

  /// How long to wait before the next attempt, or nil to give up: exponential backoff, half of it drawn, so that
  /// clients that failed together do not retry together. `Retry-After` is a floor (RFC 9110 §10.2.3).
  /// - Parameters:
  ///   - failures: attempts in a row without progress; 0 after one that made progress, which waits an eighth.
  ///   - elapsed: since the first attempt began.
  package func delay(after error: DownloadError, failures: Int, elapsed: Duration, random: Double) -> Duration? {
    guard error.isTransient, failures <= retries, retries > 0 else { return nil }
    let isBusy = error.code == .status && HostLimiter.isRefusal(error)
    let base = isBusy ? Self.busyBase : Self.base
    let ceiling = failures == 0 ? base / 8 : base * (1 << min(failures - 1, 16))
    let jittered = min(ceiling, Self.cap) * (1 + random) / 2
    // A failure of a range shows that another request will do better, so there is nothing to wait for.
    let wait = error.code == .range ? .zero : max(jittered, error.retryAfter ?? .zero)
    return allows(pause: wait, elapsed: elapsed) ? wait : nil
  }

  func allows(pause: Duration, elapsed: Duration) -> Bool {
    if let fileTime, elapsed + pause > fileTime { return false }
    return maxTime.map { elapsed + pause <= $0 } ?? (pause <= Self.longestPause)
  }
}
