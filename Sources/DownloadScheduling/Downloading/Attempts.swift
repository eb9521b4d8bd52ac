import DownloadModel

/// How often one file was tried, and what follows from its next failure. Pure.
struct Attempts: Sendable, Equatable {
  enum Next: Sendable, Equatable {
    /// Nothing was lost: send the same request again.
    case atOnce
    case after(NextAttempt)
    /// Give up here: the failure is final, or the queue deals with it (a refusal of the host, or a shortage).
    case giveUp
  }

  private var failures = 0
  private var wasForgiven = false
  private var furthest: Int64 = 0

  /// How many bytes an attempt must gain for the failures before it to be forgotten.
  private static let progress: Int64 = 1 << 20

  /// - Parameters:
  ///   - position: bytes of the file that are there.
  ///   - elapsed: since the first attempt began.
  ///   - random: from 0 up to, but not including, 1.
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
    // A file that makes progress is not given up: retries count from the last considerable progress.
    if position >= furthest + Self.progress {
      furthest = position
      failures = 0
    }
    failures += 1
    guard let delay = policy.delay(after: error, failures: failures, elapsed: elapsed, random: random) else {
      return .giveUp
    }
    return .after(NextAttempt(attempt: failures + 1, retry: failures, of: policy.retries, delay: delay))
  }
}
