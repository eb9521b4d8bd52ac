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

/// How often one file was tried, and what follows from its next failure. Pure.
struct Attempts: Sendable, Equatable {
  enum Next: Sendable, Equatable {
    /// Send the same request again: nothing was lost.
    case atOnce
    case after(NextAttempt)
    /// The failure is final, or the queue deals with it (a refusal of the host, or a shortage).
    case giveUp
  }

  private var count = 1
  /// Attempts in a row that made no progress.
  private var failures = 0
  private var wasForgiven = false
  /// Whether the last attempt made progress.
  var hasProgressed: Bool { count > 1 && failures == 0 }
  private var furthest: Int64 = 0

  /// Bytes beyond all earlier attempts that an attempt must bring to count as progress. A file has only so many of
  /// them, so a server that breaks off each time, or starts over each time, comes to an end.
  static let progress: Int64 = 16 << 10

  mutating func next(
    after error: DownloadError, at position: Int64, elapsed: Duration, _ policy: RetryPolicy, random: Double
  ) -> Next {
    // The queue deals with these: the whole host waits, or fewer files go at a time.
    if HostLimiter.isRefusal(error) || error.code == .resources { return .giveUp }
    // Once for each file: a server that closes every connection at once is a failing server.
    if error.isStaleConnection, !wasForgiven {
      wasForgiven = true
      return .atOnce
    }
    count += 1
    failures += 1
    // A slow file makes progress, too.
    if position >= furthest + Self.progress, error.code != .tooSlow {
      furthest = position
      failures = 0
    }
    guard let delay = policy.delay(after: error, failures: failures, elapsed: elapsed, random: random) else {
      return .giveUp
    }
    let limit = failures > 0 ? policy.retries : nil
    return .after(NextAttempt(attempt: count, retry: failures, of: limit, delay: delay))
  }
}
