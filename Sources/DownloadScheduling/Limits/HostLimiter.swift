import DownloadModel

/// How many downloads one host accepts at a time, and when, decided by its answers (HTTP rule 12). It reads no clock;
/// times are measured from the start of the run.
///
/// A host that refuses one request while it serves others shows its connection limit: the limit falls to that number at
/// once, without a pause. If all requests in flight at the first refusal are refused, the limit is halved once
/// (HTTP rule 39). A host that serves none, or is unreachable, gets a cooldown until it serves a file.
///
/// The limit rises slowly, by one at a time, and more slowly after each refusal that followed a raise. Once it is
/// exact, it stays for a minute. Requests of other processes count as well.
struct HostLimiter: Sendable {
  /// Knowledge about the host that all processes share.
  struct Lesson: Sendable, Equatable {
    /// 0xFFFF means no limit.
    var limit = 0xFFFF
    /// Served files that raise the limit by one.
    var servedForMore = 8
    /// Whether the last change raised the limit: then a refusal shows that the raise came too early.
    var wasRaised = false
    /// Whether the host has shown exactly how many it accepts. Then the limit is not raised before the host has served
    /// files for a while, because each trial costs a refusal.
    var isExact = false
  }

  let ceiling: Int
  /// The most requests at a time while the host is unknown (HTTP rule 56).
  private let opening: Int
  private(set) var lesson = Lesson()
  /// The lessons before and after the limit was reduced because the host had collapsed.
  private var (wide, narrow): (Lesson?, Lesson?) = (nil, nil)
  private(set) var inUse = 0
  /// Requests that the host has answered while it was unknown.
  private var answers = 0
  /// Requests of other processes in flight.
  var elsewhere = 0
  /// Connections without a request, over all processes: the host counts them, too.
  var idle = 0
  /// All connections to the host, idle ones included, over all processes; `nil` if unknown.
  var connections: Int?
  private(set) var cooldownUntil = Duration.zero
  /// How long this run has waited because the host refused requests while it served none.
  private(set) var waited = Duration.zero
  /// Whether the cooldown follows a failed connection or a shortage on this machine, and not a refusal by the host.
  private(set) var isDown = false
  /// An exact limit is not raised before this; `nil` until `goOn` starts the time, at a host that has served a file.
  private var quietUntil: Duration?
  /// Consecutive refusals while no other request was served.
  private(set) var refusals = 0
  private var refusedSince = Duration.zero
  /// Successful files since the limit last changed.
  private var served = 0
  /// Whether the host ever served a file, to any process.
  var hasServed = false
  /// Files that the host served to this process.
  private var servedOwn = 0
  private var round: Round?
  private var allowed = Allowed()

  /// The rate limit that the host announced.
  private struct Allowed {
    /// Requests left until a time, less those started since.
    var left = Int.max
    var until = Duration.zero
    /// The most requests that it ever announced as left: the next period may have no more.
    var most = 0
    /// The fewest requests that the host announced for this period.
    var least = 0
    /// How many of the requests in flight carried such an answer, and so are counted in it.
    var answered = 0
  }

  /// The downloads that were in flight when the first of them was refused.
  private struct Round {
    let width: Int
    let limit: Int
    var refused = 0
    /// Downloads that have neither ended nor been refused.
    var open: Int
    /// Whether it is the first round, or follows the opening: then the requests that are not refused are exactly as
    /// many as the host accepts.
    var isAll = false
  }

  /// When the next request may start by the user's own limit (`--rate`); `nil` until that is booked.
  private(set) var start: Duration?
  /// Until when this limit is booked.
  private var booked = Duration.zero

  private static let quiet = Duration.seconds(60)

  init(ceiling: Int, opening: Int = .max) { (self.ceiling, self.opening) = (max(1, ceiling), opening) }

  /// A ceiling below this was set by the user, and includes idle connections.
  static let many = 64

  var limit: Int { min(ceiling, lesson.limit) }

  /// Whether idle connections count, because the host or the user limits connections.
  var isLimited: Bool { limit < ceiling || ceiling < Self.many }

  /// Whether the host has not served a file, has answered fewer requests than the opening, and has refused none.
  var isUnknown: Bool { !hasServed && answers < opening && lesson == Lesson() }

  /// At least one, because only an answer lets more start.
  var room: Int { isUnknown ? min(limit, max(1, opening - elsewhere)) : limit }

  var isPristine: Bool {
    inUse == 0 && limit == ceiling && refusals == 0 && cooldownUntil == .zero && allowed.left > 0 && booked == .zero
  }

  /// The host was given up: further requests are tried one at a time, and the first refusal gives it up again.
  mutating func giveUp(_ policy: RetryPolicy) {
    // If other processes have requests in flight, the host may serve those.
    if elsewhere == 0 { lesson.limit = 1 }
    refusals = max(refusals, policy.retries)
    cooldownUntil = .zero
  }

  mutating func coolDown(until time: Duration, from now: Duration, isDown: Bool = false) {
    if !isDown { waited += max(.zero, time - max(now, cooldownUntil)) }
    self.isDown = isDown
    cooldownUntil = max(cooldownUntil, time)
  }

  /// When the next request may start, if there is room.
  var opensAt: Duration {
    let answering = allowed.left > 0 ? cooldownUntil : max(cooldownUntil, allowed.until)
    return max(answering, start ?? .zero)
  }

  /// Books the start of the next request.
  /// - Parameter time: where it is booked with other processes; `nil` behind this process's own.
  mutating func book(_ interval: Duration, at time: Duration?, from now: Duration) {
    let next = time ?? max(booked, now)
    start = next
    booked = next + interval
  }

  /// A request has started.
  mutating func useStart() { start = nil }

  func hasRoom(at now: Duration) -> Bool {
    inUse < room && now >= opensAt && (allowed.left > 0 || inUse <= allowed.most)
  }

  mutating func begin() {
    inUse += 1
    allowed.left -= 1
  }

  /// The host answered a request; the body may take long.
  mutating func answered() { if isUnknown { answers += 1 } }

  /// The host announced how many more requests it accepts. It may not have counted the requests that it has not
  /// answered yet.
  mutating func allow(_ allowance: RequestAllowance, at now: Duration) {
    allowed.answered += 1
    let until = now + allowance.time
    // An answer that arrives after that of a later request is outdated.
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

  /// Adopts the newest lesson of another process.
  mutating func adopt(_ other: Lesson) {
    if other.limit >= lesson.limit {
      if other.limit > lesson.limit { round = nil }
    } else if round != nil {
      // Refusals to other processes belong to the same round.
      round?.refused += lesson.limit - other.limit
    } else if inUse > 0 {
      round = Round(width: max(other.limit, inUse + elsewhere), limit: limit, open: inUse)
    }
    if other.limit != lesson.limit { served = 0 }
    lesson = other
  }

  /// Other processes were refused more often than their lesson says.
  mutating func lower(by count: Int) {
    round?.refused += count
    lesson.limit = max(1, lesson.limit - count)
  }

  /// A download ended without a refusal, which shows that the host answers.
  mutating func end() {
    drop()
    refusals = 0
    hasServed = true
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

  /// The transport has judged the host's health. No request was refused, so no pause is useful.
  mutating func heard(_ news: HostNews) {
    switch news {
    case .answered, .unanswered(_, .retry): break
    case .unanswered(_, .limit(let connections)): take(connections.reduce(elsewhere, +))
    case .collapsed(.limit(let connections)):
      if lesson != narrow { wide = lesson }
      take(connections.reduce(elsewhere, +))
      narrow = lesson
    case .collapsed(.retry):
      // The slow address was the cause, not the number of requests.
      if let wide, lesson == narrow { lesson = wide }
    }
  }

  /// The host refused (429, 503, no connection, or one that it closed before any answer).
  /// - Returns: the earliest time for the next attempt; `nil` if the host is given up.
  mutating func refuse(_ error: DownloadError, at now: Duration, _ policy: RetryPolicy, random: Double) -> Duration? {
    // As many files have ended under this exact limit as it allows, so every request in flight started under it: it is
    // too high by one.
    let most = lesson.isExact && served >= lesson.limit ? lesson.limit : .max
    slowDown()
    let isOfHost = error.isOfHost
    lower(isDown: isOfHost, most: most)
    // A refusal of a download that was in flight when the cooldown started says nothing new.
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

  /// The number of accepted requests is now known, and it rarely changes.
  private mutating func take(_ count: Int) {
    slowDown()
    lesson.limit = min(lesson.limit, max(1, count))
    lesson.servedForMore = max(lesson.servedForMore, 64)
  }

  /// The limit was too high. If it had just been raised, it grows more slowly from now on; the second time it is exact.
  private mutating func slowDown() {
    if lesson.wasRaised, lesson.servedForMore > 8 { (lesson.isExact, quietUntil) = (true, nil) }
    if lesson.wasRaised { lesson.servedForMore = min(lesson.servedForMore * 2, 1024) }
    lesson.wasRaised = false
    served = 0
  }

  /// - Parameter most: the most requests that can be in flight; `inUse` also counts files that are being committed.
  private mutating func lower(isDown: Bool, most: Int) {
    // An unknown host serves the opening and some further files before the first full round is sent.
    let first = opening == .max ? 0 : 4 * opening
    let width = min(inUse + elsewhere + idle, most)
    var current = round ?? Round(width: width, limit: limit, open: inUse, isAll: servedOwn <= first)
    current.refused += 1
    current.open -= 1
    leave()
    round = current.open > 0 ? current : nil
    if current.refused < current.width {
      lesson.limit = min(lesson.limit, current.width - current.refused)
      // While a file is being committed, the next request already uses its connection, and both count as in flight.
      // Over HTTP/2 one connection carries many requests, so the number of connections says nothing.
      if let connections, connections < lesson.limit, connections * 2 > lesson.limit { lesson.limit = connections }
      // A single refusal may be chance. If connections fail, the other requests may only not have failed yet.
      if current.isAll, !isDown, current.refused > 1 {
        lesson.isExact = true
        lesson.servedForMore = max(lesson.servedForMore, 16)
        quietUntil = nil
      }
    } else {
      // The earlier refusals of the round have lowered the limit further than all of them together justify. A single
      // refused download does not show how many the host would accept.
      lesson.limit = max(1, (current.width > 1 ? current.width : current.limit) / 2)
      lesson.isExact = false
    }
  }
}
