import DownloadModel

/// How many downloads one host takes at a time, and when: a function of what it answered (http.md 12). No clock, no
/// tasks; times are since the run began.
///
/// A host that refuses one request while it serves others has said how many it takes: as many as are left. So the
/// limit falls to those at once, and nobody waits. A host that refuses and serves nobody is left alone for a while.
/// Upwards it is tried slowly, one more at a time, and the more slowly the more often it has refused.
struct HostPace: Sendable, Equatable {
  /// Never more than this at a time.
  let ceiling: Int
  private(set) var limit: Int
  /// Under way now.
  private(set) var inUse = 0
  /// Nothing is asked of the host before this.
  private(set) var quietUntil = Duration.zero
  /// Refusals in a row while nobody was served.
  private(set) var refusals = 0
  /// When the row began.
  private var refusedSince = Duration.zero
  /// Files that ended well since the limit last changed, and how many it takes for one more at a time.
  private var served = 0
  private var servedForMore = 8
  /// Whether the last change was upwards: then a refusal says that it was too early.
  private var wasRaised = false

  init(ceiling: Int) {
    self.ceiling = max(1, ceiling)
    limit = max(1, ceiling)
  }

  /// Whether nothing is left to be remembered of it.
  var isPristine: Bool { inUse == 0 && limit == ceiling && refusals == 0 && quietUntil == .zero }

  /// The host was given up: it is tried again with one request at a time, and given up again at the first refusal.
  mutating func giveUp(_ policy: RetryPolicy) {
    limit = 1
    refusals = max(refusals, policy.retries)
    quietUntil = .zero
  }

  /// Nothing is asked of the host before this, for a reason that is not its own.
  mutating func leaveAlone(until time: Duration) { quietUntil = max(quietUntil, time) }

  func hasRoom(at now: Duration) -> Bool { inUse < limit && now >= quietUntil }

  mutating func begin() { inUse += 1 }

  /// A download ended, and not because the host refused: it answers.
  mutating func end() {
    inUse -= 1
    refusals = 0
    guard limit < ceiling else { return }
    served += 1
    if served >= servedForMore {
      limit += 1
      served = 0
      wasRaised = true
    }
  }

  /// A download ended without saying anything of the host.
  mutating func drop() { inUse -= 1 }

  /// What a refusal means for the request that met it.
  enum Refusal: Equatable {
    /// It is to be asked again when the host has room; nothing before this time.
    case again(Duration)
    /// The host is given up.
    case givenUp
  }

  /// The host refused: 429, 503, no connection.
  mutating func refuse(
    _ error: DownloadError, at now: Duration, _ policy: RetryPolicy, random: Double
  ) -> Refusal {
    inUse -= 1
    limit = inUse > 0 ? min(limit, inUse) : max(1, limit / 2)
    served = 0
    if wasRaised { servedForMore = min(servedForMore * 2, 1024) }
    wasRaised = false
    // Whoever was under way when the host went quiet has learnt nothing new.
    let isNews = now >= quietUntil
    if inUse > 0 || !isNews {
      // Others are being served. Only the server itself can ask for more quiet than that.
      guard let asked = error.retryAfter else { return .again(max(now, quietUntil)) }
      guard policy.allows(pause: asked, elapsed: .zero) else { return .givenUp }
      quietUntil = max(quietUntil, now + asked)
      return .again(quietUntil)
    }
    if refusals == 0 { refusedSince = now }
    refusals += 1
    guard
      let pause = policy.delay(
        after: error, failures: refusals, elapsed: now - refusedSince, random: random)
    else { return .givenUp }
    quietUntil = max(quietUntil, now + pause)
    return .again(quietUntil)
  }

  /// Failures that say something of the host and not of the file.
  static func isRefusal(_ error: DownloadError) -> Bool {
    switch error.code {
    case .connect, .resolve, .timeout: error.isPassing
    case .status: error.cause == .http(status: 429) || error.cause == .http(status: 503)
    default: false
    }
  }
}
