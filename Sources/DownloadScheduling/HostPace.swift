import DownloadModel

/// How many downloads one host takes at a time, and when: a function of what it answered (http.md 12). No clock, no
/// tasks; times are since the run began.
///
/// A host that refuses one request while it serves others has said how many it takes: as many as are left. So the
/// limit falls to those at once, and nobody waits. What was under way at the first refusal is one round: when all of it
/// is refused, that says nothing of how many the host takes, and the limit falls to half, once (http.md 39). A host that
/// refuses and serves nobody is left alone for a while. Upwards it is tried slowly, one more at a time, and the more slowly
/// the more often it has refused.
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
  private var round: Round?

  /// What was under way when the first of it was refused.
  private struct Round: Equatable {
    /// How many that were.
    let width: Int
    /// The limit then.
    let limit: Int
    var refused = 0
    /// Those of which nothing is known yet.
    var open: Int
  }

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
    leave()
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
  mutating func drop() { leave() }

  private mutating func leave() {
    inUse -= 1
    round?.open -= 1
    if round?.open == 0 { round = nil }
  }

  /// What a refusal means for the request that met it.
  enum Refusal: Equatable {
    /// It is to be asked again when the host has room; nothing before this time.
    case again(Duration)
    /// The host is given up.
    case givenUp
  }

  /// The host refused (429, 503, no connection, or one that it closed before any answer), or left a request unanswered.
  mutating func refuse(
    _ error: DownloadError, at now: Duration, _ policy: RetryPolicy, random: Double
  ) -> Refusal {
    if let overtaken = error.overtaken {
      // It was not refused but left unanswered: nothing is to be waited for.
      leave()
      if let answering = overtaken.answering { take(answering.reduce(0, +)) }
      return .again(max(now, quietUntil))
    }
    slowDown()
    lower()
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

  /// How many the host takes is known, and hardly changes.
  private mutating func take(_ count: Int) {
    slowDown()
    limit = min(limit, max(1, count))
    servedForMore = max(servedForMore, 64)
  }

  /// The number was too high: it grows more slowly from now on, if growing is what made it so.
  private mutating func slowDown() {
    if wasRaised { servedForMore = min(servedForMore * 2, 1024) }
    (wasRaised, served) = (false, 0)
  }

  /// One of those under way was refused.
  private mutating func lower() {
    var current = round ?? Round(width: inUse, limit: limit, open: inUse)
    current.refused += 1
    current.open -= 1
    inUse -= 1
    round = current.open > 0 ? current : nil
    if current.refused < current.width {
      limit = min(limit, current.width - current.refused)
    } else {
      // The refusals before the last have lowered the limit further than all of them together say; and one alone does not
      // say how many it would be with others.
      limit = max(1, (current.width > 1 ? current.width : current.limit) / 2)
    }
  }

  /// Failures that say something of the host and not of the file.
  static func isRefusal(_ error: DownloadError) -> Bool {
    if error.wasTurnedAway || error.overtaken != nil { return true }
    return switch error.code {
    case .connect, .resolve, .timeout: error.isPassing
    case .status: error.cause == .http(status: 429) || error.cause == .http(status: 503)
    default: false
    }
  }
}
