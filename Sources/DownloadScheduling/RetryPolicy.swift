public import DownloadModel

/// When a failed attempt is made again: a function of values (http.md 11, 12).
public struct RetryPolicy: Sendable, Equatable {
  /// Attempts after the first.
  public var retries: Int
  /// No retry begins later than this after the first attempt; nil is without limit.
  public var maxTime: Duration?
  /// First backoff ceiling; each further one doubles.
  public var base: Duration
  /// First ceiling when the server itself asked for quiet (429, 503).
  public var busyBase: Duration
  /// A server that asks for a longer pause is not waited for, unless `maxTime` allows it: an hour is the user's to
  /// decide on, and "999999999" a mistake.
  public static let longestPause = Duration.seconds(600)
  /// No ceiling grows beyond this.
  public var cap: Duration

  public init(
    retries: Int = 5, maxTime: Duration? = nil, base: Duration = .milliseconds(500),
    busyBase: Duration = .seconds(2), cap: Duration = .seconds(30)
  ) {
    self.retries = retries
    self.maxTime = maxTime
    self.base = base
    self.busyBase = busyBase
    self.cap = cap
  }

  /// How long to wait before the next attempt, or nil to give up.
  ///
  /// Exponential backoff with full jitter: anything between nothing and the ceiling, so that many clients that
  /// failed together do not come back together. `Retry-After` is a floor (RFC 9110 §10.2.3).
  /// - Parameters:
  ///   - failures: attempts that have failed, at least 1.
  ///   - elapsed: since the first attempt began.
  ///   - random: from 0 up to, but not including, 1.
  public func delay(
    after error: DownloadError, failures: Int, elapsed: Duration, random: Double
  ) -> Duration? {
    guard error.isPassing, failures <= retries else { return nil }
    // The answer itself says that another request will do better: there is nothing to wait for.
    let wait =
      error.code == .range ? .zero : max(jittered(error, failures, random), error.retryAfter ?? .zero)
    return allows(pause: wait, elapsed: elapsed) ? wait : nil
  }

  /// Whether a pause is one that the user would wait for.
  func allows(pause: Duration, elapsed: Duration) -> Bool {
    guard let maxTime else { return pause <= Self.longestPause }
    return elapsed + pause <= maxTime
  }

  private func jittered(_ error: DownloadError, _ failures: Int, _ random: Double) -> Duration {
    let isBusy = error.cause == .http(status: 429) || error.cause == .http(status: 503)
    let ceiling = (isBusy ? busyBase : base) * (1 << min(failures - 1, 16))
    return min(ceiling, cap) * random
  }
}
