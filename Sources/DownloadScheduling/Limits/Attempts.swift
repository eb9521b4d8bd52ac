import DownloadModel

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
