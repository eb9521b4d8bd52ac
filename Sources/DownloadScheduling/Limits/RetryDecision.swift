import DownloadModel

/// What follows a failed attempt: the one answer to "again?" (HTTP rules 11 to 13 and 37 to 40). Pure.
enum RetryDecision: Equatable {
  /// The same request is sent again: nothing was lost.
  case now
  /// The file waits and holds no slot; without a delay, it continues at once.
  case after(NextAttempt)
  /// The request waits until its host has room.
  case whenReady(NextAttempt)
  /// The request waits for a connection of this loop, which is free once so many more files have ended there.
  case onLoop(Int, afterEnds: Int)
  case nextSource
  case fail

  /// The file that failed.
  struct File {
    var attempts = Attempts()
    /// How often its host refused it, or this machine had no resources for it, this time included.
    var refusals = 0
    /// Since its first attempt.
    var elapsed = Duration.zero
    /// Whether its source was sending bytes.
    var isReceiving = false
    var hasNextSource: Bool
  }

  /// The file's host, once it knows of the failure.
  struct Host {
    /// Time until it may be asked again; `nil` if it was given up, or does not know yet.
    var pause: Duration?
    /// Consecutive failures that count as retries: refusals while it serves nothing, or shortages while no other file
    /// is in flight.
    var failures = 0
    /// Why the transport requeued the request; `nil` if it did not.
    var remedy: HostNews.Remedy?
  }

  /// Refusals after which a file is given up while its host serves others, unless `retries` is more.
  private static let refusalsOfOneFile = 10
  /// A file's first refusal causes no wait. Later ones cause a backoff in which at most this many failures count.
  private static let failuresOfRest = 3

  /// The attempt that waits in the queue, as it is reported.
  var next: NextAttempt? {
    switch self {
    case .after(let next), .whenReady(let next): next
    case .onLoop: NextAttempt()
    case .now, .nextSource, .fail: nil
    }
  }

  /// - Parameter host: the default while the file has its slot; only the queue knows more.
  static func decide(
    _ error: DownloadError, _ file: File, _ policy: RetryPolicy, _ host: Host = Host(), random: Double
  ) -> RetryDecision {
    let end: RetryDecision = error.isOfSource && file.hasNextSource ? .nextSource : .fail
    // An equal request, for which this one waited, has reported the failure; this one was never sent.
    if error.isCoalesced, error.isForQueue { return .whenReady(NextAttempt()) }
    if error.isRequeued {
      guard case .retry(let loop, let isIdle)? = host.remedy else { return .whenReady(NextAttempt()) }
      return .onLoop(loop, afterEnds: isIdle ? 0 : 1)
    }
    if error.isForQueue { return requeue(error, file, host, policy, random) ?? end }
    // Once for each file: a server that closes every connection at once is a failing server.
    if error.isStaleConnection, file.attempts.stale == 1 { return .now }
    // A source that sent bytes may continue with them; a slow source would only be slow again.
    if end == .nextSource, !file.isReceiving || error.code == .tooSlow { return end }
    let failures = file.attempts.failures
    guard let delay = policy.delay(after: error, failures: failures, elapsed: file.elapsed, random: random) else {
      return end
    }
    let limit = failures > 0 ? policy.retries : nil
    return .after(NextAttempt(attempt: file.attempts.count, retry: failures, of: limit, delay: delay))
  }

  /// - Returns: `nil` if the request is not sent to this host again.
  private static func requeue(
    _ error: DownloadError, _ file: File, _ host: Host, _ policy: RetryPolicy, _ random: Double
  ) -> RetryDecision? {
    let isShortage = error.code == .resources
    // Without retries each request is sent once, whatever the host answered to others.
    guard let pause = host.pause, isShortage || policy.retries > 0 else { return nil }
    // Without a connection, only the host's refusals decide how often the file is retried, and another source is tried
    // at once. With others in flight, shortages end, because the limit falls each time.
    let isAllowed =
      switch error.code {
      case .resources: host.failures <= policy.retries
      case _ where error.isOfHost: !file.hasNextSource
      default: file.refusals <= max(refusalsOfOneFile, policy.retries)
      }
    guard isAllowed else { return nil }
    let failures = isShortage || pause > .zero ? 0 : min(file.refusals - 1, failuresOfRest, policy.retries)
    let backoff = failures > 0 ? policy.delay(after: error, failures: failures, elapsed: .zero, random: random) : nil
    // A file's own refusals, while its host serves others, do not count as retries.
    let isCounted = host.failures > 0
    let next = NextAttempt(
      attempt: file.refusals + 1, retry: isCounted ? host.failures : file.refusals,
      of: isCounted ? policy.retries : nil, delay: backoff ?? pause)
    return backoff == nil ? .whenReady(next) : .after(next)
  }
}

extension DownloadError {
  /// Whether no connection could be made. That concerns all files: those in flight may only not have noticed yet.
  var isOfHost: Bool {
    switch code {
    case .connect, .resolve, .timeout: isTransient
    default: false
    }
  }

  /// Whether a failure is about the host and not about the file.
  var isRefusal: Bool {
    if case .http(let status)? = cause, HTTPStatus.isRefusal(status) { return true }
    return wasTurnedAway || isRequeued || isOfHost
  }

  /// Whether the queue has to know: the whole host waits, or fewer files run at a time.
  var isForQueue: Bool { isRefusal || code == .resources }
}
