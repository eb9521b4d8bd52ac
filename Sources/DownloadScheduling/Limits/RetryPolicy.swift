package import DownloadModel

/// When a failed attempt is retried. Pure (HTTP rules 11, 12).
package struct RetryPolicy {
  /// Attempts after the first.
  package var retries: Int
  /// No retry starts later than this after the first attempt; `nil` for no limit.
  package var maxTime: Duration?
  /// A file that is incomplete this long after its first attempt fails for good; `nil` for no limit.
  package var fileTime: Duration?

  /// The longest first pause, doubled at each failure. Half of four such pauses is 8.25 s, longer than a server's
  /// restart.
  private static let base = Duration.milliseconds(1100)
  /// Like `base`, if the server refused (429, 503).
  private static let busyBase = Duration.seconds(2)
  /// The longest pause, unless the server asks for a longer one.
  private static let cap = Duration.seconds(30)
  /// A longer pause that a server asks for is only accepted if the user's `maxTime` allows it.
  private static let longestPause = Duration.seconds(600)

  package init(retries: Int = 5, maxTime: Duration? = nil, fileTime: Duration? = nil) {
    self.retries = retries
    self.maxTime = maxTime
    self.fileTime = fileTime
  }

  /// The wait before the next attempt, or `nil` to give up: exponential backoff, half of it random, so that clients
  /// that failed together do not retry together. `Retry-After` is a lower bound (RFC 9110 §10.2.3).
  /// - Parameters:
  ///   - failures: consecutive attempts without progress; 0 after progress, which waits an eighth.
  ///   - elapsed: since the first attempt started.
  package func delay(after error: DownloadError, failures: Int, elapsed: Duration, random: Double) -> Duration? {
    guard error.isTransient, failures <= retries, retries > 0 else { return nil }
    let isBusy = error.code == .status && error.isRefusal
    let base = isBusy ? Self.busyBase : Self.base
    let ceiling = failures == 0 ? base / 8 : base * (1 << min(failures - 1, 16))
    let jittered = min(ceiling, Self.cap) * (1 + random) / 2
    // A failed range shows that another request will do better, so waiting is useless.
    let wait = error.code == .range ? .zero : max(jittered, error.retryAfter ?? .zero)
    return allows(pause: wait, elapsed: elapsed) ? wait : nil
  }

  func allows(pause: Duration, elapsed: Duration) -> Bool {
    if let fileTime, elapsed + pause > fileTime { return false }
    return maxTime.map { elapsed + pause <= $0 } ?? (pause <= Self.longestPause)
  }
}
