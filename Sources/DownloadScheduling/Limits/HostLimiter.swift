import DownloadModel

/// How many downloads one host takes at a time, and when, decided by its answers (HTTP rule 12). It reads no clock;
/// times are since the run began.
/// A host that refuses one request while it serves others shows how many it takes: the limit falls to that number at
/// once, without a pause. If all that were in flight at the first refusal are refused, the limit is halved once (HTTP
/// rule 39). A host that serves none, or cannot be connected to, gets a cooldown until it serves a file. The limit
/// rises slowly, by one at a time, and the more slowly the more often the host has refused. Once it is well known, it
/// stays for a minute. What other processes have in flight counts with this one's.
struct HostLimiter: Sendable, Equatable {
  /// What the host has taught, which holds for all processes.
  struct Lesson: Sendable, Equatable {
    /// The greatest number stands for none.
    var limit = 0xFFFF
    /// How many files that end well raise the limit by one.
    var servedForMore = 8
    /// Whether the last change raised the limit: then a refusal shows that it came too early.
    var wasRaised = false
    /// Whether the host has shown exactly how many it takes. Then it is not asked for more before it has served files
    /// for a while, as each trial costs a refusal.
    var isExact = false
  }

  let ceiling: Int
  /// The most requests at a time while nothing is known of the host (HTTP rule 56).
  private let opening: Int
  private(set) var lesson = Lesson()
  /// Those before and after it was asked for less because it had collapsed.
  private var (wide, narrow): (Lesson?, Lesson?) = (nil, nil)
  private(set) var inUse = 0
  /// Requests that the host has answered, until it is known.
  private var answers = 0
  /// What other processes have in flight.
  var elsewhere = 0
  /// Connections without a request, over all processes: the host counts them as well.
  var idle = 0
  /// All connections to the host, idle ones included, over all processes; `nil` if unknown.
  var connections: Int?
  private(set) var cooldownUntil = Duration.zero
  /// How long this run has waited because the host refused requests while it served none.
  private(set) var waited = Duration.zero
  /// Whether the cooldown is because no connection came about, and not because the host asked for it.
  private(set) var isDown = false
  /// Until when an exact limit is not raised; nil before the host serves again.
  private var quietUntil: Duration?
  /// Refusals in a row while no other request was served.
  private(set) var refusals = 0
  private var refusedSince = Duration.zero
  /// Files that ended well since the limit last changed.
  private var served = 0
  /// Whether it ever served a file, in any process.
  var hasServed = false
  /// Files that it served in this process.
  private var servedOwn = 0
  private var round: Round?
  private var allowed = Allowed()

  /// What the host said that it takes.
  private struct Allowed: Equatable {
    /// Requests until a time, less those that began since.
    var (left, until) = (Int.max, Duration.zero)
    /// The most that it ever said were left: a new time may have no more.
    var most = 0
    /// The least that the host said of this period.
    var least = 0
    /// How many of those in flight said so, and so are counted.
    var answered = 0
  }

  /// The downloads that were in flight when the first of them was refused.
  private struct Round: Equatable {
    let width: Int
    let limit: Int
    var refused = 0
    /// Those that have neither ended nor been refused.
    var open: Int
    /// Whether it is the first that was sent, or follows the opening: then those that are not refused are exactly what
    /// the host takes.
    var isAll = false
  }

  private static let quiet = Duration.seconds(60)

  init(ceiling: Int, opening: Int = .max) { (self.ceiling, self.opening) = (max(1, ceiling), opening) }

  /// Ceilings below are the user's, who counts idle connections, too.
  static let many = 64

  var limit: Int { min(ceiling, lesson.limit) }

  /// Whether idle connections count, because the host or the user allows only so many.
  var isLimited: Bool { limit < ceiling || ceiling < Self.many }

  /// Whether it has neither served a file, nor answered as many requests as an unknown host gets, nor refused one.
  var isUnknown: Bool { !hasServed && answers < opening && lesson == Lesson() }

  /// At least one, because only its answer lets more begin.
  var room: Int { isUnknown ? min(limit, max(1, opening - elsewhere)) : limit }

  var isPristine: Bool {
    inUse == 0 && limit == ceiling && refusals == 0 && cooldownUntil == .zero && allowed.left > 0
  }

  /// The host was given up: further requests are tried one at a time, and the first refusal gives it up again.
  mutating func giveUp(_ policy: RetryPolicy) {
    // Others may be served.
    if elsewhere == 0 { lesson.limit = 1 }
    refusals = max(refusals, policy.retries)
    cooldownUntil = .zero
  }

  mutating func coolDown(until time: Duration, from now: Duration, isDown: Bool = false) {
    if !isDown { waited += max(.zero, time - max(now, cooldownUntil)) }
    (self.isDown, cooldownUntil) = (isDown, max(cooldownUntil, time))
  }

  /// When the next request may begin, if there is room.
  var opensAt: Duration { allowed.left > 0 ? cooldownUntil : max(cooldownUntil, allowed.until) }

  func hasRoom(at now: Duration) -> Bool {
    inUse < room && now >= opensAt && (allowed.left > 0 || inUse <= allowed.most)
  }

  mutating func begin() {
    inUse += 1
    allowed.left -= 1
  }

  /// The host answered a request, whose body may take long.
  mutating func answered() { if isUnknown { answers += 1 } }

  /// The host said how many more requests it takes; at worst it has seen none of those that it has not answered.
  mutating func allow(_ allowance: RequestAllowance, at now: Duration) {
    allowed.answered += 1
    let until = now + allowance.time
    // An answer that arrives behind that of a later request is old news.
    if now < allowed.until, allowance.left > allowed.least, until + .seconds(1) > allowed.until { return }
    let known = now < allowed.until ? min(allowed.left, allowance.left) : .min
    allowed.left = max(known, allowance.left - max(0, inUse - allowed.answered))
    allowed.until = until
    allowed.most = max(allowed.most, allowance.left)
    allowed.least = allowance.left
  }

  mutating func goOn(at now: Duration) {
    guard lesson.isExact, hasServed else { return }
    let end = quietUntil ?? now + Self.quiet
    (lesson.isExact, quietUntil) = now < end ? (true, end) : (false, nil)
    if !lesson.isExact { served = 0 }
  }

  /// Takes over what another process has learnt last.
  mutating func adopt(_ other: Lesson) {
    if other.limit >= lesson.limit {
      if other.limit > lesson.limit { round = nil }
    } else if round != nil {
      // What others were refused belongs to the same round.
      round?.refused += lesson.limit - other.limit
    } else if inUse > 0 {
      round = Round(width: max(other.limit, inUse + elsewhere), limit: limit, open: inUse)
    }
    if other.limit != lesson.limit { served = 0 }
    lesson = other
  }

  /// Others were refused more often than their lesson says.
  mutating func lower(by count: Int) {
    round?.refused += count
    lesson.limit = max(1, lesson.limit - count)
  }

  /// A download ended without a refusal, which shows that the host answers.
  mutating func end() {
    drop()
    (refusals, hasServed) = (0, true)
    servedOwn += 1
    if isDown { (isDown, cooldownUntil) = (false, .zero) }
    guard limit < ceiling else { return }
    served += 1
    guard !lesson.isExact, served >= lesson.servedForMore else { return }
    lesson.limit += 1
    lesson.wasRaised = true
    served = 0
  }

  /// A download ended in a way that says nothing about the host.
  mutating func drop() {
    leave()
    round?.open -= 1
    if round?.open == 0 { round = nil }
  }

  private mutating func leave() {
    inUse -= 1
    allowed.answered = max(0, allowed.answered - 1)
  }

  /// The host refused (429, 503, no connection, or one that it closed before any answer), or left a request unanswered.
  /// - Returns: the time before which the request must not be asked again; nil if the host is given up.
  mutating func refuse(_ error: DownloadError, at now: Duration, _ policy: RetryPolicy, random: Double) -> Duration? {
    if let overtaken = error.overtaken {
      // It was left unanswered and not refused, so there is nothing to wait for.
      drop()
      if let answering = overtaken.answering {
        if error.code == .tooSlow, lesson != narrow { wide = lesson }
        take(answering.reduce(elsewhere, +))
        if error.code == .tooSlow { narrow = lesson }
      } else if error.code == .tooSlow, let wide, lesson == narrow {
        // Its address was the cause.
        lesson = wide
      }
      return max(now, cooldownUntil)
    }
    // As many files have ended under this exact limit as it allows, so every request in flight began under it: it is
    // too high by one.
    let most = lesson.isExact && served >= lesson.limit ? lesson.limit : .max
    slowDown()
    let isOfHost = Self.isOfHost(error)
    lower(isDown: isOfHost, most: most)
    // Downloads that were in flight when the cooldown began learn nothing new from a refusal.
    let isNews = now >= cooldownUntil
    if inUse + elsewhere > 0 && !isOfHost || !isNews {
      // Other requests are being served, so only the server itself can ask for a cooldown.
      guard let asked = error.retryAfter else { return max(now, cooldownUntil) }
      guard policy.allows(pause: asked, elapsed: .zero) else { return nil }
      coolDown(until: now + asked, from: now)
      return cooldownUntil
    }
    if refusals == 0 { refusedSince = now }
    refusals += 1
    let elapsed = now - refusedSince
    guard let pause = policy.delay(after: error, failures: refusals, elapsed: elapsed, random: random) else {
      return nil
    }
    coolDown(until: now + pause, from: now, isDown: isOfHost)
    return cooldownUntil
  }

  /// It is known how many the host takes, and that rarely changes.
  private mutating func take(_ count: Int) {
    slowDown()
    lesson.limit = min(lesson.limit, max(1, count))
    lesson.servedForMore = max(lesson.servedForMore, 64)
  }

  /// The limit was too high. If it had just been raised, it grows more slowly from now on; the second time it is exact.
  private mutating func slowDown() {
    if lesson.wasRaised, lesson.servedForMore > 8 { (lesson.isExact, quietUntil) = (true, nil) }
    if lesson.wasRaised { lesson.servedForMore = min(lesson.servedForMore * 2, 1024) }
    (lesson.wasRaised, served) = (false, 0)
  }

  /// - Parameter most: the most requests that can be in flight; files that are being committed are counted, too.
  private mutating func lower(isDown: Bool, most: Int) {
    // An unknown host serves its opening, and some files more, before all that may go at once are sent.
    let first = opening == .max ? 0 : 4 * opening
    let width = min(inUse + elsewhere + idle, most)
    var current = round ?? Round(width: width, limit: limit, open: inUse, isAll: servedOwn <= first)
    current.refused += 1
    current.open -= 1
    leave()
    round = current.open > 0 ? current : nil
    if current.refused < current.width {
      lesson.limit = min(lesson.limit, current.width - current.refused)
      // While a file is being committed, the next request has its connection already, and both are in flight. Over
      // HTTP/2 one connection has many requests, and its number says nothing.
      if let connections, connections < lesson.limit, connections * 2 > lesson.limit { lesson.limit = connections }
      // A single one may be refused by chance; without connections, the others' are only not refused yet.
      if current.isAll, !isDown, current.refused > 1 {
        (lesson.isExact, lesson.servedForMore, quietUntil) = (true, max(lesson.servedForMore, 16), nil)
      }
    } else {
      // The refusals before the last have lowered the limit further than all of them together justify. A single refused
      // download does not show how many the host would take.
      (lesson.limit, lesson.isExact) = (max(1, (current.width > 1 ? current.width : current.limit) / 2), false)
    }
  }

  /// Whether no connection came about, which concerns all files: those under way may only not have noticed yet.
  static func isOfHost(_ error: DownloadError) -> Bool {
    switch error.code {
    case .connect, .resolve, .timeout: error.isTransient
    default: false
    }
  }

  /// Whether a failure is about the host and not about the file.
  static func isRefusal(_ error: DownloadError) -> Bool {
    if case .http(let status)? = error.cause, HTTPStatus.isRefusal(status) { return true }
    return error.wasTurnedAway || error.overtaken != nil || isOfHost(error)
  }
}
