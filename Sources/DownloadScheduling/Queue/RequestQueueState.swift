// Long because: all rules of the queue change the same numbers.
import DownloadModel

/// Which request goes to which lane, and when: the rules of `RequestQueue` without its lock, as functions of times
/// (since the start of the run), random numbers and the source's requests. After any change `settle` must follow under
/// the same lock: no lane polls.
struct RequestQueueState {
  /// The most requests, and urgent requests, that wait for their hosts; further ones wait in the window or the list.
  private static let lookahead = 1024
  private static let urgentLookahead = 4096
  /// Longer than the transport keeps idle connections when descriptors are short.
  private static let roomPause = Duration.seconds(2.2)

  private let widths: [Int]
  private let retry: RetryPolicy
  var hosts: HostTable
  var run: RunLimiter
  var refused = RefusedRequests()
  /// The lane that has waited longest is first.
  var lanes: [WaitingLane] = []
  var window: RequestWindow
  /// When more files may start although none has ended; `nil` for never.
  private var opens: Duration?
  /// Whether another share may take a request now.
  private var hasMoved = false
  /// Whether rules use the time they are given; true with `--rate`, and once a host has refused, a file waits for a
  /// retry, or another process ran.
  private(set) var needsTime: Bool
  /// When the queue's clock wakes for `due`; `nil` if it is not set.
  var alarm: Duration?

  init(
    ceiling: Int, lowered: [String: Int] = [:], opening: Int = .max, widths: [Int], retry: RetryPolicy,
    adaptive: AdaptiveConcurrency? = nil, ranking: RequestRanking = RequestRanking(), looksAhead: Bool = false,
    rates: RequestRates = RequestRates(), sharing: HostSharing? = nil
  ) {
    self.widths = widths
    needsTime = !rates.isEmpty
    self.retry = retry
    hosts = HostTable(
      ceiling: ceiling, lowered: lowered, opening: opening, shares: widths.count, ranking: ranking, rates: rates,
      sharing: sharing)
    window = RequestWindow(ranking, isOpen: looksAhead || ranking.order != .list)
    run = RunLimiter(widths: widths, adaptive: adaptive)
  }

  // MARK: The next request

  enum Step {
    case give(DownloadRequest)
    /// Wait for the source and pass the result to `received`.
    case read
    /// Wait: `settle` provides the next request.
    case wait
    case end
  }

  /// Returns a request that the source has without waiting. Called under the lock, so that requests keep the list's
  /// order.
  typealias AtOnce = () -> DownloadRequest?

  /// - Parameter mayRead: whether the lane can itself wait for the source.
  mutating func step(for share: Int, at now: Duration, mayRead: Bool = true, _ source: AtOnce) -> Step {
    if run.isEnding { return .end }
    if run.isFull { return run.isPaused ? endOrWait : .wait }
    for (_, request, count) in refused.takeRested(at: now) {
      hosts.count(request, by: -1)
      holdAgain(request, count, at: hosts.host(of: request))
    }
    if window.isOpen {
      window.readAhead(besides: hosts.held, source)
      return choose(for: share, at: now)
    }
    if hosts.held > 0, let request = takeHeld(for: share, at: now) { return .give(request) }
    while !window.hasEnded, hosts.held < Self.lookahead {
      guard let request = window.next(source) else { return waitForSource(mayRead) }
      if let step = admit(request, share, at: now) { return step }
    }
    return endOrWait
  }

  private mutating func waitForSource(_ mayRead: Bool) -> Step {
    guard window.reader == .nobody else { return .wait }
    // If the source has to wait for the list's writer, the queue's reader waits instead of the lane, which can then
    // take requests that are added meanwhile.
    let isLane = mayRead && hosts.held == 0 && run.total == 0 && window.goesOn
    window.reader = isLane ? .waits : .isWanted
    return isLane ? .read : .wait
  }

  var isOver: Bool { window.isOver && hosts.held == 0 && run.total == 0 }

  private var endOrWait: Step { isOver ? .end : .wait }

  private mutating func choose(for share: Int, at now: Duration) -> Step {
    if window.isUndecided(besides: hosts.held) { return endOrWait }
    while hosts.heldUrgent < Self.urgentLookahead, let request = window.takeUrgent() {
      hold(request, at: hosts.host(of: request))
    }
    if window.letsOthersGo {
      if let request = takeHeld(for: share, at: now, besidesUrgent: true) { return give(request) }
      if let step = takeOther(for: share, at: now) { return step }
    }
    if hosts.held > 0, let request = takeHeld(for: share, at: now) { return give(request) }
    return takeOther(for: share, at: now) ?? endOrWait
  }

  private mutating func give(_ request: DownloadRequest) -> Step {
    window.gave(request)
    return .give(request)
  }

  /// Passes requests that are not urgent to their hosts, until one can start; `nil` if none can.
  private mutating func takeOther(for share: Int, at now: Duration) -> Step? {
    while hosts.held - hosts.heldUrgent < Self.lookahead, let request = window.takeOther() {
      if let step = admit(request, share, at: now) { return step }
    }
    return nil
  }

  /// Takes the first request in rank whose host can accept one.
  /// - Parameter besidesUrgent: only from hosts without urgent requests.
  private mutating func takeHeld(for share: Int, at now: Duration, besidesUrgent: Bool = false) -> DownloadRequest? {
    while true {
      var first: (host: QueuedHost, place: HeldRequests.Place, rank: RequestRank)?
      for host in hosts.all {
        guard let place = place(at: host, for: share, at: now), let rank = host.requests.foremost else { continue }
        if besidesUrgent, rank.isFirst { continue }
        if first.map({ rank < $0.rank }) ?? true { first = (host, place, rank) }
      }
      guard let (host, place, _) = first else { return nil }
      if host.requests.isEmpty(.failFast), !host.mayBegin(at: now, for: share) { continue }
      guard let request = hosts.take(from: place, at: host) else { return nil }
      if case .failFast = place { refused.note(request.id) { $0.failure = host.failure } }
      begin(share, host)
      return request
    }
  }

  private mutating func place(at host: QueuedHost, for share: Int, at now: Duration) -> HeldRequests.Place? {
    if host.requests.isEmpty { return nil }
    if !host.requests.isEmpty(.failFast) { return .failFast }
    guard host.hasRoom(at: now, for: share) else { return nil }
    if let index = reserved(at: host, for: share) { return .reserved(index) }
    return isTurn(of: share, at: host) ? host.next : nil
  }

  /// A request reserved for this share, or for one whose lanes are busy.
  private func reserved(at host: QueuedHost, for share: Int) -> Int? {
    host.requests.reserved.firstIndex { one in
      if one.share != share { return run.isBusy(one.share) }
      // If no other request waits for the host, the answered connections are idle.
      return host.ends[share] >= one.ends || host.inUse[share] == 0 || !host.requests.isForAny
    }
  }

  /// Starts a new request, or holds it for its host.
  /// - Returns: `nil` if the lane should consider the next request.
  private mutating func admit(_ request: DownloadRequest, _ share: Int, at now: Duration) -> Step? {
    let host = hosts.host(of: request)
    // It must not overtake requests that wait already.
    if host.requests.isEmpty(.fresh), host.hasRoom(at: now, for: share), isTurn(of: share, at: host),
      host.mayBegin(at: now, for: share)
    {
      begin(share, host)
      return give(request)
    }
    hold(request, at: host)
    // If the host has room, it is another share's turn.
    return host.hasRoom(at: now, for: share) ? .wait : nil
  }

  private mutating func begin(_ share: Int, _ host: QueuedHost) {
    run.begin(share)
    host.begin(share)
    host.limiter.useStart()
  }

  // MARK: Turns of the shares

  /// Whether this share is next for a file of the host: it has quota, and no other share with a free lane has fewer of
  /// the run's few files, or else of the host's files. The more of these have ended, the larger a difference is
  /// allowed. `isRather` goes first, so that no two shares leave a file to each other.
  private mutating func isTurn(of share: Int, at host: QueuedHost) -> Bool {
    if widths.count == 1 { return true }
    guard hasQuota(share, at: host) else { return false }
    let most = host.inUse[share] - host.ends.reduce(0, +) / 8
    return !widths.indices.contains { other in
      guard host.hasQuota(other), !run.isBusy(other) else { return false }
      return run.isRather(other, than: share) || host.inUse[other] < most && !run.isRather(share, than: other)
    }
  }

  /// Whether a share may have one more connection to a host that has room. It takes over a slot if only shares without
  /// a free lane have one to spare.
  private mutating func hasQuota(_ share: Int, at host: QueuedHost) -> Bool {
    if host.hasQuota(share) { return true }
    guard host.takeOver(for: share, isBusy: { run.isBusy($0) }) else { return false }
    hosts.noteQuotas(of: host)
    return true
  }

  private mutating func hold(
    _ request: DownloadRequest, _ place: HeldRequests.Place = .fresh, at host: QueuedHost
  ) {
    hasMoved = true
    hosts.hold(request, place, at: host)
  }

  // MARK: Waiting lanes

  /// A lane that waited, and its request; `nil` at the end of everything.
  typealias Handed = (lane: WaitingLane, request: DownloadRequest?)

  /// Gives out requests until no waiting lane can start one. Must follow every change.
  mutating func settle(at now: Duration, received: () -> Int64, _ source: AtOnce) -> [Handed] {
    if run.isOpening { opens = run.wait(at: now, received: received(), held: hosts.heldBack) }
    let handed = handOut(at: now, source)
    if handed.isEmpty || !run.isOpening { return handed }
    // These requests may have filled the run: from now on the clock counts.
    return handed + settle(at: now, received: received, source)
  }

  private mutating func handOut(at now: Duration, _ source: AtOnce) -> [Handed] {
    // A paused run can end, too, if nothing is left to start.
    if lanes.isEmpty || run.isFull && !(run.isPaused && run.total == 0) { return [] }
    var handed: [Handed] = []
    repeat {
      hasMoved = false
      // One share after another. A request that one takes or leaves can make it another share's turn.
      for share in widths.indices where lanes.contains(where: { $0.share == share }) {
        switch step(for: share, at: now, mayRead: false, source) {
        case .give(let request):
          if let index = lanes.firstIndex(where: { $0.share == share }) {
            handed.append((lanes.remove(at: index), request))
          }
          hasMoved = true
        case .end:
          handed += lanes.map { ($0, nil) }
          lanes = []
        case .wait, .read: break
        }
      }
    } while hasMoved
    return handed
  }

  /// When time alone lets `settle` give out more; `nil` for never, or while no lane waits.
  func due(at now: Duration) -> Duration? {
    if lanes.isEmpty { return nil }
    let wider = run.isOpening && !run.isPaused ? opens : nil
    if run.isFull || !needsTime { return wider }
    return [wider, hosts.nextCooldownEnd(after: now), refused.resting.map(\.until).min()].compactMap(\.self).min()
  }

  /// Notifies other processes of changes. Must follow `settle`.
  mutating func tellOthers(at now: Duration) {
    if hosts.tellOthers(lanes: min(lanes.count, run.spare), at: now) { needsTime = true }
  }

  // MARK: Requests from the source

  mutating func received(_ request: DownloadRequest?, _ outlook: SourceOutlook = SourceOutlook()) {
    guard let request = window.received(request, outlook) else { return }
    hold(request, at: hosts.host(of: request))
  }

  /// Those that are in flight, or wait for a retry, stay where they are.
  mutating func prefer(_ ids: Set<Int>) {
    let held = hosts.withdraw(ids)
    window.prefer(ids)
    for request in held { window.add(request) }
  }

  /// Removes held requests that are no longer wanted; those in flight end by themselves.
  /// - Returns: the removed requests; they have ended.
  mutating func withdraw(_ ids: Set<Int>) -> [DownloadRequest] {
    let rested = refused.withdraw(ids)
    for request in rested { hosts.count(request, by: -1) }
    let withdrawn = hosts.withdraw(ids) + rested
    for request in withdrawn { refused.forget(request.id) }
    return withdrawn + window.withdraw(ids)
  }

  // MARK: How a request ended

  private mutating func end(_ share: Int, _ host: QueuedHost) {
    run.end(share)
    host.end(share)
  }

  /// Records that a download ended for good, with or without success.
  /// - Parameters:
  ///   - brokenAt: when its transfer broke; `nil` if it did not.
  ///   - next: the file with its next source, if that is tried now.
  /// - Returns: whether `measure` must be called now.
  mutating func ended(
    _ request: DownloadRequest, share: Int, wasAsked: Bool, brokenAt: Duration? = nil, next: BackoffEntry? = nil
  ) -> Bool {
    let measures = run.learn(wasAsked, brokenAt: brokenAt, hasMore: hosts.held > 0 || window.hasMore)
    refused.forget(request.id)
    start(next)
    // A host with a request in flight is never forgotten.
    guard let host = hosts[request.source.hostAndPort] else { return measures }
    end(share, host)
    if wasAsked {
      host.limiter.end()
    } else {
      // A file answered from disk was downloaded in an earlier run: the host is not unknown.
      host.limiter.answered()
      host.limiter.drop()
    }
    hosts.noteQuotas(of: host)
    hosts.forget(host)
    return measures
  }

  private mutating func start(_ next: BackoffEntry?) {
    guard let next else { return }
    refused.note(next.request.id) { $0.file = next }
    holdAgain(next.request, 0, at: hosts.host(of: next.request))
  }

  mutating func measure(at now: Duration, received: Int64, left: Int?) {
    run.measure(at: now, received: received, left: left.map { $0 + hosts.held + window.count })
  }

  /// A file that waits for its next attempt holds no slot (HTTP rule 12): others start meanwhile.
  /// - Parameter time: `nil` to wait as long as the equal file whose failure this one shares.
  /// - Returns: false if no equal file waits.
  mutating func retry(_ file: BackoffEntry, share: Int, until time: Duration?) -> Bool {
    let request = file.request
    guard let time = time ?? refused.resting.first(where: { $0.request.key == request.key })?.until else {
      return false
    }
    let host = hosts.host(of: request)
    end(share, host)
    host.limiter.drop()
    refused.note(request.id) {
      $0.file = file
      if file.attempts.hasProgressed { $0.count = 0 }
    }
    rest(request, 0, until: time)
    return true
  }

  private mutating func rest(_ request: DownloadRequest, _ count: Int, until time: Duration) {
    refused.resting.append((time, request, count))
    hosts.count(request)
    needsTime = true
  }

  /// Requeues a request that its host refused or left unanswered, or for which this machine had no resources.
  /// - Parameter next: the file with its next source, which is tried if the request is not sent again.
  mutating func requeue(
    _ file: BackoffEntry, share: Int, after error: DownloadError, next: BackoffEntry?, at now: Duration,
    random: Double
  ) -> RetryDecision {
    let request = file.request
    let host = hosts.host(of: request)
    end(share, host)
    let record = refused.advice(on: request)
    let count = error.isCoalesced ? 1 : record.count + 1
    let state = RetryDecision.File(refusals: count, hasNextSource: next != nil)
    var answer = notify(host, error, count, at: now, random)
    answer.remedy = record.news?.remedy
    let decision = RetryDecision.decide(error, state, retry, answer, random: random)
    if decision.next == nil {
      refused.forget(request.id)
      start(next)
      return decision
    }
    let isRequeued = error.isRequeued && !error.isCoalesced
    refused.note(request.id) {
      if isRequeued {
        $0.file = $0.file ?? file
      } else if !error.isCoalesced {
        $0.count = count
      }
      if file.stopwatch != nil { $0.file = file }
    }
    if error.code == .resources, !error.isCoalesced { limitRoom(host, answer.pause, at: now) }
    switch decision {
    case .after(let next): rest(request, count, until: now + next.delay)
    case .onLoop(let loop, let ends) where widths.indices.contains(loop):
      host.requests.reserve(request, for: loop, afterEnds: host.ends[loop] + ends)
      hosts.count(request)
    // The request was unanswered, and is still in its first attempt.
    case _ where isRequeued: hold(request, at: host)
    default: holdAgain(request, count, at: host)
    }
    return decision
  }

  /// Tells the host how an attempt failed.
  private mutating func notify(
    _ host: QueuedHost, _ error: DownloadError, _ count: Int, at now: Duration, _ random: Double
  ) -> RetryDecision.Host {
    // The transport has told why it requeued a request (`heard`). Without retries, what the host answered to one
    // request says nothing about others.
    guard error.isRefusal, !error.isRequeued, !error.isCoalesced, retry.retries > 0 else {
      host.limiter.drop()
      let isAlone = run.total == 0
      return RetryDecision.Host(pause: isAlone ? Self.roomPause : .zero, failures: isAlone ? count : 0)
    }
    let time = refuse(host, error, at: now, random, mayGiveUp: true)
    return RetryDecision.Host(pause: time.map { $0 - now }, failures: host.limiter.refusals)
  }

  /// From now on, no more files are in flight at a time than are without the one that failed, whatever `--jobs` says.
  private mutating func limitRoom(_ host: QueuedHost, _ pause: Duration?, at now: Duration) {
    run.limitRoom()
    guard let pause, pause > .zero else { return }
    host.limiter.coolDown(until: now + pause, from: now, isDown: true)
    needsTime = true
  }

  private mutating func holdAgain(_ request: DownloadRequest, _ count: Int, at host: QueuedHost) {
    hold(request, HeldRequests.place(of: request, refused: count), at: host)
  }

  /// - Parameter mayGiveUp: whether the host is given up if it has nothing in flight.
  /// - Returns: when the host may be asked again; `nil` if it refused too often.
  private mutating func refuse(
    _ host: QueuedHost, _ error: DownloadError, at now: Duration, _ random: Double, mayGiveUp: Bool = false
  ) -> Duration? {
    let time = host.refuse(error, at: now, retry, random: random)
    if host.limiter.cooldownUntil > .zero || host.limiter.lesson.isExact { needsTime = true }
    if time == nil, mayGiveUp, host.limiter.inUse == 0 {
      host.failure = error
      host.requests.failFast()
      host.limiter.giveUp(retry)
    }
    hosts.noteQuotas(of: host)
    return time
  }

  mutating func heard(_ news: HostNews, of name: String, about request: Int?, at now: Duration) {
    guard let host = hosts[name] else { return }
    if case .answered(let allowance) = news {
      hosts.answered(at: name)
      // The wait for further requests is limited like that of a Retry-After.
      guard let allowance, retry.allows(pause: allowance.time, elapsed: .zero) else { return }
      host.limiter.allow(allowance, at: now)
      needsTime = true
    } else {
      host.heard(news, at: now)
      if host.limiter.lesson.isExact { needsTime = true }
      if let request { refused.note(request) { $0.news = news } }
      if case .limit(let connections)? = news.remedy { hosts.noteQuotas(of: host, answering: connections) }
    }
  }

  // MARK: Further connections of a file: each counts as one download towards its host's limit

  /// - Returns: false if the host has no room, or if files wait for it: those go first.
  mutating func acquirePermit(at name: String, share: Int, at now: Duration) -> Bool {
    guard let host = hosts[name], host.hasRoom(at: now, for: share),
      !host.requests.isWaitedFor,
      host.mayBegin(at: now, for: share),
      host.mayHaveFurther(share)
    else { return false }
    host.begin(share)
    run.change(further: 1)
    hosts.noteQuotas(of: host)
    return true
  }

  /// - Parameter error: how the connection failed. Only files themselves decide whether the host is given up.
  mutating func releasePermit(
    at name: String, share: Int, after error: DownloadError?, at now: Duration, random: Double
  ) {
    guard let host = hosts[name] else { return }
    host.release(share)
    run.change(further: -1)
    if let error, error.isRefusal, !error.isRequeued {
      _ = refuse(host, error, at: now, random)
    } else {
      host.limiter.drop()
      hosts.noteQuotas(of: host)
    }
  }
}
