import DownloadModel

/// The attempts of one file, and the decision after its next failure. Pure.
struct Attempts: Sendable, Equatable {
  enum Next: Sendable, Equatable {
    /// Send the same request again: nothing was lost.
    case atOnce
    case after(NextAttempt)
    /// The failure is final, or the queue handles it (a refusal by the host, or a shortage on this machine).
    case leaveToQueue
  }

  private var count = 1
  /// Consecutive attempts without progress.
  private var failures = 0
  private var wasForgiven = false
  /// Whether the last attempt made progress.
  var hasProgressed: Bool { count > 1 && failures == 0 }
  private var furthest: Int64 = 0

  /// An attempt makes progress if it receives this many bytes beyond all earlier attempts. A file has only so many of
  /// these steps, so a server that breaks off or starts over each time cannot cause endless retries.
  static let progress: Int64 = 16 << 10

  mutating func next(
    after error: DownloadError, at position: Int64, elapsed: Duration, _ policy: RetryPolicy, random: Double
  ) -> Next {
    // The queue handles these: the whole host waits, or fewer files run at a time.
    if HostLimiter.isRefusal(error) || error.code == .resources { return .leaveToQueue }
    // Once for each file: a server that closes every connection at once is a failing server.
    if error.isStaleConnection, !wasForgiven {
      wasForgiven = true
      return .atOnce
    }
    count += 1
    failures += 1
    // A file that failed as too slow received bytes, too, but that is not progress.
    if position >= furthest + Self.progress, error.code != .tooSlow {
      furthest = position
      failures = 0
    }
    guard let delay = policy.delay(after: error, failures: failures, elapsed: elapsed, random: random) else {
      return .leaveToQueue
    }
    let limit = failures > 0 ? policy.retries : nil
    return .after(NextAttempt(attempt: count, retry: failures, of: limit, delay: delay))
  }
}
