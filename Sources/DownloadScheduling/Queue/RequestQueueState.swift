// Long because: all rules of the queue change the same numbers.
import DownloadModel

/// Which request goes to which lane, and when: the rules of `RequestQueue` without its lock.
///
/// It reads no clock, draws no random number, waits for nothing and wakes no task. Times (since the run began), random
/// numbers and what the source gave are arguments; what must be done outside is in `Step`, in the return values and in
/// what is taken (`takeQuotaChanges`, `takeReading`). So each rule can be tested as a table, and a run of thousands of
/// steps without a thread.
///
/// No lane ever looks again by itself. Whatever changes, `settle` follows under the same lock, and hands requests to
/// the lanes that wait until none can begin: so no lane waits while there is room for it.
struct RequestQueueState {
  /// At most so many requests are held back while the queue looks for a host that is free. It bounds memory.
  private static let lookahead = 1024
  /// So many urgent requests wait for their hosts; more of them wait in the window.
  private static let urgentLookahead = 4096
  /// A file that alone is refused, while its host serves others, is given up after so many refusals, or after `retries`
  /// if that is more.
  private static let refusalsOfOneFile = 10
  /// After its first refusal a file is asked again at once, behind those that were never asked. Each further one makes
  /// it wait, as after as many failures, but after no more than these.
  private static let failuresOfRest = 3
  /// Longer than the transport keeps idle connections once descriptors are short.
  private static let roomPause = Duration.seconds(2.2)

  private let widths: [Int]
  private let retry: RetryPolicy

  private var hosts: HostTable
  /// What was read ahead, where the order is not simply the list's; nil while it is.
  private var window: RequestWindow?
  private var source = SourceReading()
  private var urgentInARow = 0
  private(set) var run: RunLimiter
  private var homes = KeyHomes()
  private var refused = RefusedRequests()
  /// Waiting lanes, the one that waits longest first.
  private var waiting: [Lane] = []
  /// When more files may go at a time although none has ended; nil for never.
  private var opens: Duration?
  /// Whether a request has come to where another share may take it.
  private var hasMoved = false
  private var quotaChanges: [QuotaChange] = []
  /// Whether `step` and `settle` use the time that they are given; only once a host has had a cooldown.
  private(set) var needsTime = false

  private struct Lane {
    let ticket: Int
    let share: Int
  }

  /// - Parameters:
  ///   - ceiling: downloads from one host at a time, at most.
  ///   - widths: lanes of each share, at least one share.
  ///   - looksAhead: whether the list is read ahead for urgent requests from the beginning; else it is from
  ///     the first urgent one on.
  init(
    ceiling: Int, widths: [Int], retry: RetryPolicy, adaptive: AdaptiveConcurrency? = nil,
    ranking: RequestRanking = RequestRanking(), looksAhead: Bool = false
  ) {
    self.widths = widths
    self.retry = retry
    hosts = HostTable(ceiling: ceiling, shares: widths.count, ranking: ranking)
    if looksAhead || ranking.order != .list { window = RequestWindow(ranking) }
    run = RunLimiter(widths: widths, adaptive: adaptive)
  }

  /// The hosts that keep requests waiting, the one with most of them first. For a display.
  func waits(at now: Duration) -> [HostWait] { hosts.waits(at: now) }

  /// Requests that rest between two attempts.
  var resting: [(until: Duration, request: DownloadRequest, count: Int)] { refused.resting }

  // MARK: What the user changes while it runs

  /// Nothing new begins until it goes on.
  mutating func pause(_ isPaused: Bool) { run.isPaused = isPaused }

  /// Takes more files at a time from now on, or fewer; at least one.
  /// - Parameter most: how many lanes there may be.
  /// - Returns: how many, and the share that needs one more lane for that; nil if none does.
  mutating func widen(by change: Int, most: Int) -> (count: Int, newLane: Int?) {
    run.widen(by: change, most: most)
  }

  // MARK: The next request

  /// What a lane must do next.
  enum Step {
    case give(DownloadRequest)
    /// Wait for the source and pass the result to `received`: nothing can happen before it gives something.
    case read
    /// Everything has ended.
    case end
    /// Wait: `settle` hands it what comes.
    case wait
  }

  /// What the source has without waiting, nil for nothing. Asked under the lock, so that requests keep the list's
  /// order.
  typealias AtOnce = () -> DownloadRequest?

  /// Called by a free lane.
  /// - Parameter mayRead: whether the lane can itself wait for the source.
  mutating func step(for share: Int, at now: Duration, mayRead: Bool = true, _ source: AtOnce) -> Step {
    if run.isFull { return run.isPaused ? endOrWait : .wait }
    for one in refused.takeRested(at: now) {
      hosts.host(of: one.request).holdRefused(one.request, one.count)
      hasMoved = true
    }
    if window != nil {
      readAhead(source)
      return choose(for: share, at: now)
    }
    if hosts.held > 0, let request = takeHeld(for: share, at: now) { return .give(request) }
    while !self.source.hasEnded, hosts.held < Self.lookahead {
      guard let request = source() else { return waitForSource(mayRead) }
      switch admit(request, share, at: now) {
      case .begun: return .give(request)
      case .held: continue
      case .anothersTurn: return .wait
      }
    }
    return endOrWait
  }

  private mutating func waitForSource(_ mayRead: Bool) -> Step {
    if source.isReading { return .wait }
    source.isReading = true
    if mayRead, hosts.held == 0, run.total == 0 { return .read }
    source.isWanted = true
    return .wait
  }

  private var endOrWait: Step {
    source.hasEnded && hosts.held == 0 && run.total == 0 && window?.count ?? 0 == 0 ? .end : .wait
  }

  // MARK: Lanes that wait

  /// Notes that a lane waits, after `step` said so.
  mutating func wait(_ ticket: Int, share: Int) { waiting.append(Lane(ticket: ticket, share: share)) }

  var hasWaiting: Bool { !waiting.isEmpty }

  /// Removes a lane whose task was cancelled.
  mutating func stopWaiting(_ ticket: Int) { waiting.removeAll { $0.ticket == ticket } }

  /// What a lane that waited is handed; nil at the end of everything.
  typealias Handed = (ticket: Int, request: DownloadRequest?)

  /// Hands out requests until no lane that waits can begin one. Must follow every change.
  /// - Parameter received: body bytes of the whole run so far.
  mutating func settle(at now: Duration, received: () -> Int64, _ source: AtOnce) -> [Handed] {
    if run.isOpening { opens = run.wait(at: now, received: received()) }
    let handed = handOut(at: now, source)
    // What was handed out may have filled the run: from now on the clock counts.
    if run.isOpening, !handed.isEmpty { opens = run.wait(at: now, received: received()) }
    return handed
  }

  private mutating func handOut(at now: Duration, _ source: AtOnce) -> [Handed] {
    // A paused run has an end too, where nothing is left to begin.
    if waiting.isEmpty || run.isFull && !(run.isPaused && run.total == 0) { return [] }
    var handed: [Handed] = []
    repeat {
      hasMoved = false
      // A share after the other. What one takes, or leaves to another, can make it that one's turn.
      for share in widths.indices {
        guard let index = waiting.firstIndex(where: { $0.share == share }) else { continue }
        switch step(for: share, at: now, mayRead: false, source) {
        case .give(let request):
          handed.append((waiting.remove(at: index).ticket, request))
          hasMoved = true
        case .end:
          handed += waiting.map { ($0.ticket, nil) }
          waiting = []
        case .wait, .read: break
        }
      }
    } while hasMoved
    return handed
  }

  /// When time alone lets `settle` hand out more; nil for never, or while no lane waits.
  func due(at now: Duration) -> Duration? {
    if waiting.isEmpty { return nil }
    if run.isFull { return run.isOpening && !run.isPaused ? opens : nil }
    guard needsTime else { return nil }
    return [hosts.nextCooldownEnd(after: now), refused.resting.map(\.until).min()].compactMap(\.self).min()
  }

  /// Whether `settle` needs the time and the bytes, because more files may go at a time if none has ended for some
  /// time.
  var isOpening: Bool { run.isOpening }

  // MARK: What the source gives

  /// Takes what the source gave after a wait, nil at its end.
  mutating func received(
    _ request: DownloadRequest?, _ outlook: SourceOutlook = SourceOutlook(goesOn: true, hasFirst: false)
  ) {
    source.isReading = false
    source.goesOn = outlook.goesOn
    if outlook.hasFirst, window == nil { window = RequestWindow(hosts.ranking) }
    guard let request else { return source.hasEnded = true }
    if window != nil { return window?.add(request) ?? () }
    hosts.host(of: request).hold(request)
    hosts.count(request)
  }

  /// The task that waited for the source was cancelled, so what the source still has is unknown.
  mutating func stopReading() { source.isReading = false }

  /// Takes the foremost request of those whose hosts can take one, so that the run's order is kept as far as possible.
  /// - Parameter besidesUrgent: only of hosts without urgent ones.
  private mutating func takeHeld(
    for share: Int, at now: Duration, besidesUrgent: Bool = false
  ) -> DownloadRequest? {
    while true {
      var first: (host: QueuedHost, place: QueuedHost.Place, rank: RequestRank)?
      for host in hosts.all {
        guard let place = place(at: host, for: share, at: now) else { continue }
        let rank = host.foremost
        if besidesUrgent, rank.isFirst { continue }
        if first.map({ rank < $0.rank }) ?? true { first = (host, place, rank) }
      }
      guard let (host, place, _) = first, let request = host.take(from: place) else { return nil }
      // The loop ends: each request is rerouted at most once before its key begins or ends again.
      if isSentOn(request, from: place, by: share, at: host) { continue }
      if case .failFast = place { refused.failFast(request, of: host.name) }
      hosts.uncount(request)
      begin(request, share, host)
      return request
    }
  }

  /// Where a request waits that this share may take from a host now.
  private mutating func place(at host: QueuedHost, for share: Int, at now: Duration) -> QueuedHost.Place? {
    if host.hasFailFast { return .failFast }
    guard host.isWaitedFor || host.hasBound, host.hasRoom(at: now) else { return nil }
    if let index = reserved(at: host, for: share) { return .reserved(index) }
    guard hasQuota(share, at: host) else { return nil }
    let own = host.place(of: share)
    guard isTurn(of: share, at: host), let any = host.placeForAny(besides: share) else { return own?.place }
    if let own, own.rank < any.rank { return own.place }
    return any.place
  }

  /// A request reserved for a connection of this share, or of a share whose lanes are busy.
  private func reserved(at host: QueuedHost, for share: Int) -> Int? {
    if host.reserved.isEmpty { return nil }
    return host.reserved.firstIndex { one in
      if one.share != share { return run.isBusy(one.share) }
      // If nothing else waits for the host, no transfer may end any more, and the connections that were answered are
      // idle.
      return host.ends[share] >= one.ends || host.inUse[share] == 0 || !host.isHeldForAny
    }
  }

  private enum Admission {
    case begun
    /// The host is full, or the request waits for a share.
    case held
    /// The host has room, but it is another share's turn.
    case anothersTurn
  }

  private mutating func admit(_ request: DownloadRequest, _ share: Int, at now: Duration) -> Admission {
    let host = hosts.host(of: request)
    let hasRoom = host.hasRoom(at: now)
    let route = route(request, at: host)
    // It must not overtake requests that wait already.
    if !host.hasHeld, hasRoom, isTurn(of: share, route, at: host) {
      begin(request, share, host)
      return .begun
    }
    hold(request, route, at: host)
    hosts.count(request)
    if case .any = route { return hasRoom ? .anothersTurn : .held }
    return .held
  }

  private mutating func begin(_ request: DownloadRequest, _ share: Int, _ host: QueuedHost) {
    run.begin(share)
    host.begin(share)
    if widths.count > 1 { homes.begin(request, at: share) }
  }

  /// Whether it is this share's turn for a host's next file: it is within its quota, and no other share that has a free
  /// lane, and so asks too, should rather have it. That is one with fewer of the run's few, or else with fewer of the
  /// host's files; the more files of a host have ended, the larger a difference is allowed. One goes before the other,
  /// so that no two leave a file to each other.
  private mutating func isTurn(of share: Int, at host: QueuedHost) -> Bool {
    if widths.count == 1 { return true }
    guard hasQuota(share, at: host) else { return false }
    let most = host.inUse[share] - host.ended / 8
    return !widths.indices.contains { other in
      guard host.hasQuota(other), !run.isBusy(other) else { return false }
      return run.isRather(other, than: share)
        || host.inUse[other] < most && !run.isRather(share, than: other)
    }
  }

  /// Whether a share may have one more connection to a host that has room. A place that only shares with no free lane
  /// have to spare becomes this one's: they could not use it before one of their files ends.
  private mutating func hasQuota(_ share: Int, at host: QueuedHost) -> Bool {
    if widths.count == 1 || host.hasQuota(share) { return true }
    guard host.takeOver(for: share, isBusy: { run.isBusy($0) }) else { return false }
    noteQuotas(of: host)
    return true
  }

  // MARK: Another order than the list's

  /// Whether more of the list should be read ahead.
  private var mayReadOn: Bool {
    guard let window, !source.hasEnded else { return false }
    return hosts.held + window.count < RequestWindow.limit
  }

  /// Reads what the source has at once, as far as the window goes.
  mutating func readAhead(_ source: AtOnce) {
    while mayReadOn, let request = source() { window?.add(request) }
  }

  /// Whether the reader should now wait for the source. Where urgent requests may come, it reads on although all lanes
  /// are busy. If so, `received` must be called.
  mutating func takeReading() -> Bool {
    defer { source.isWanted = false }
    if window == nil || source.isReading || !mayReadOn { return source.isWanted }
    source.isReading = true
    return true
  }

  /// Sorts urgent requests to their hosts.
  private mutating func sortUrgent() {
    while hosts.heldUrgent < Self.urgentLookahead, let request = window?.takeUrgent() {
      let host = hosts.host(of: request)
      hold(request, route(request, at: host), at: host)
      hosts.count(request)
    }
  }

  private mutating func give(_ request: DownloadRequest) -> Step {
    urgentInARow = request.isFirst ? urgentInARow + 1 : 0
    return .give(request)
  }

  /// The foremost request that can go, of all that are read.
  private mutating func choose(for share: Int, at now: Duration) -> Step {
    // The smallest of a list is known when it is read, as far as it can be read without waiting.
    if hosts.ranking.order != .list, source.goesOn, mayReadOn { return endOrWait }
    sortUrgent()
    if RequestRanking.letsOthersGo(urgentInARow: urgentInARow, isListRead: source.hasEnded) {
      if let request = takeHeld(for: share, at: now, besidesUrgent: true) { return give(request) }
      switch takeOther(for: share, at: now) {
      case .some(let step): return step
      case nil: break
      }
    }
    if hosts.held > 0, let request = takeHeld(for: share, at: now) { return give(request) }
    return takeOther(for: share, at: now) ?? endOrWait
  }

  /// Sorts requests that are not urgent to their hosts, until one can go.
  /// - Returns: nil if none can.
  private mutating func takeOther(for share: Int, at now: Duration) -> Step? {
    while hosts.held - hosts.heldUrgent < Self.lookahead, let request = window?.takeOther() {
      switch admit(request, share, at: now) {
      case .begun: return give(request)
      case .held: continue
      case .anothersTurn: return .wait
      }
    }
    return nil
  }

  // MARK: Equal requests go to one share

  /// Which share should have a request, because its cache has the key.
  private enum Route {
    case any
    /// It has an equal one in flight, so no other share may have this one.
    case only(Int)
    /// It had an equal one a moment ago. Another would fetch what this one has, so it is waited for, unless the host
    /// gives it no connection at all.
    case rather(Int)
  }

  private func route(_ request: DownloadRequest, at host: QueuedHost) -> Route {
    if widths.count == 1 { return .any }
    return switch homes.home(of: request) {
    case .inFlight(let share): .only(share)
    case .recent(let share) where host.quota(of: share) > 0: .rather(share)
    case .recent, nil: .any
    }
  }

  private mutating func isTurn(of share: Int, _ route: Route, at host: QueuedHost) -> Bool {
    switch route {
    case .any: isTurn(of: share, at: host)
    // A key's files go to its share, whatever the other shares have.
    case .only(let owner), .rather(let owner): owner == share && hasQuota(share, at: host)
    }
  }

  private mutating func hold(_ request: DownloadRequest, _ route: Route, at host: QueuedHost) {
    hasMoved = true
    switch route {
    case .any: return host.hold(request)
    case .rather(let share): host.prefer(request, by: share)
    case .only(let share):
      host.bind(request, to: share)
      homes.markAwaited(request)
    }
  }

  /// Whether a request that a share has taken must be held for another share instead, because an equal one may have
  /// begun there since it was held.
  private mutating func isSentOn(
    _ request: DownloadRequest, from place: QueuedHost.Place, by share: Int, at host: QueuedHost
  ) -> Bool {
    let route = route(request, at: host)
    switch (place, route) {
    case (.failFast, _), (.bound, _), (_, .any): return false
    // A request that was asked or preferred before does not wait again for what a cache remembers.
    case (.refused, .rather), (.refusedFirst, .rather), (.reserved, .rather), (.preferred, .rather):
      return false
    case (_, .only(let other)), (_, .rather(let other)):
      if other == share { return false }
      hold(request, route, at: host)
      return true
    }
  }

  // MARK: How a request ended

  /// How to ask a request that was given out.
  enum Advice {
    /// - Parameter waited: how long it was left unanswered before; nil if it was not.
    case ask(waited: Duration?)
    /// Fail it without asking: its host was given up.
    case fail(DownloadError)
  }

  /// Whether some request may have any but the usual advice: to be asked, and nothing else.
  var hasAdvice: Bool { refused.hasAdvice }

  /// Must be called once for each request that was given out, before it is asked, unless there was no advice yet when
  /// it was.
  mutating func advice(on request: DownloadRequest) -> Advice { refused.advice(on: request) }

  /// Notes that a download ended, well or badly, and does not come again.
  /// - Parameters:
  ///   - wasAsked: whether its host was asked.
  ///   - brokenAt: when its transfer broke; nil if it did not.
  /// - Returns: whether `measure` must be called now.
  mutating func ended(
    _ request: DownloadRequest, share: Int, wasAsked: Bool, brokenAt: Duration? = nil
  ) -> Bool {
    let measures = run.learn(brokenAt: brokenAt)
    refused.forget(request.id)
    // A host with anything in flight is not forgotten.
    guard let host = hosts.known(request) else { return measures }
    end(request, share, host)
    if wasAsked {
      host.limiter.end()
      noteQuotas(of: host)
    } else {
      host.limiter.drop()
    }
    hosts.forget(host)
    return measures
  }

  private mutating func end(_ request: DownloadRequest, _ share: Int, _ host: QueuedHost) {
    run.end(share)
    host.end(share)
    if widths.count > 1, let home = homes.end(request) { host.unbind(request, from: home) }
  }

  /// - Parameters:
  ///   - received: body bytes of the whole run so far.
  ///   - left: how many requests the source has; nil where that is not known.
  mutating func measure(at now: Duration, received: Int64, left: Int?) {
    let held = hosts.held + (window?.count ?? 0)
    run.measure(at: now, received: received, left: left.map { $0 + held })
  }

  /// Requeues a request that its host refused.
  /// - Parameter random: from 0 up to, but not including, 1, for the jitter.
  /// - Returns: nil if it does not come again, because it was refused too often or the host was given up. Then its
  ///   download has ended.
  mutating func requeue(
    _ request: DownloadRequest, share: Int, after error: DownloadError, at now: Duration, random: Double
  ) -> NextAttempt? {
    guard let host = hosts.known(request) else { return nil }
    end(request, share, host)
    if let overtaken = error.overtaken {
      _ = refuse(host, error, at: now, random)
      noteQuotas(of: host, answering: overtaken.answering)
      return requeue(request, overtaken, host)
    }
    let count = refused.count(request)
    // Without retries each request is asked once, whatever the host answered to others.
    if retry.retries == 0 {
      host.limiter.drop()
      return nil
    }
    let refusal = refuse(host, error, at: now, random)
    defer { noteQuotas(of: host) }
    guard case .again(let time) = refusal else {
      if host.limiter.inUse == 0 {
        refused.giveUp(host.name, because: error)
        host.giveUp(retry)
      }
      return nil
    }
    let most = max(Self.refusalsOfOneFile, retry.retries)
    // Where no connection came about, the host alone decides how often that is tried.
    guard count <= most || HostLimiter.isOfHost(error) else { return nil }
    let rest = count > 1 && time <= now ? self.rest(after: error, count, random) : .zero
    if rest > .zero {
      needsTime = true
      refused.rest(request, count, until: now + rest)
      hosts.count(request)
    } else {
      holdRefused(request, at: host, count)
    }
    // Two counts can end the retries, and the one that applies is told: the host's refusals in a row, or, while it
    // serves others, the file's own.
    let row = host.limiter.refusals
    return NextAttempt(
      attempt: count + 1, retry: row > 0 ? row : count, of: row > 0 ? retry.retries : most,
      delay: max(rest, time - now))
  }

  /// How long a file rests that was refused while its host serves others.
  private func rest(after error: DownloadError, _ refusals: Int, _ random: Double) -> Duration {
    retry.delay(
      after: error, failures: min(refusals - 1, Self.failuresOfRest, retry.retries), elapsed: .zero,
      random: random) ?? .zero
  }

  /// Requeues a request that was left unanswered. It goes before others, and is still on its first attempt.
  private mutating func requeue(
    _ request: DownloadRequest, _ overtaken: DownloadError.Overtaken, _ host: QueuedHost
  ) -> NextAttempt {
    refused.wasUnanswered(request, for: overtaken.waited)
    if overtaken.answering == nil, widths.indices.contains(overtaken.loop) {
      let ends = host.ends[overtaken.loop] + (overtaken.isIdle ? 0 : 1)
      host.reserve(request, for: overtaken.loop, afterEnds: ends)
    } else {
      host.holdFirst(request)
    }
    hosts.count(request)
    return NextAttempt(attempt: 1, retry: 0, of: nil, delay: .zero)
  }

  /// Requeues a request that was never sent: it comes again when the host has room.
  mutating func requeueUnasked(_ request: DownloadRequest, share: Int) {
    let host = hosts.host(of: request)
    end(request, share, host)
    host.limiter.drop()
    host.holdRefused(request)
    hosts.count(request)
  }

  /// Requeues a request for which this machine was short of descriptors or memory (`DownloadError.Code.resources`).
  /// From then on no more files are in flight at a time than were without it, whatever `--jobs` says. Its host is not
  /// blamed.
  /// - Returns: nil if no other file is in flight whose end could help, and waiting did not help either. Then its
  ///   download has ended.
  mutating func requeueForRoom(_ request: DownloadRequest, share: Int, at now: Duration) -> NextAttempt? {
    guard let host = hosts.known(request) else { return nil }
    end(request, share, host)
    host.limiter.drop()
    let count = refused.count(request)
    // With others in flight this ends, because the limit falls each time; alone, the request is tried as often as after
    // any failure.
    let isAlone = run.total == 0
    guard !isAlone || count <= retry.retries else { return nil }
    run.limitRoom()
    if isAlone {
      host.limiter.coolDown(until: now + Self.roomPause)
      needsTime = true
    }
    holdRefused(request, at: host, count)
    return NextAttempt(
      attempt: count + 1, retry: count, of: isAlone ? retry.retries : nil, delay: isAlone ? Self.roomPause : .zero)
  }

  private mutating func holdRefused(_ request: DownloadRequest, at host: QueuedHost, _ count: Int) {
    refused.keep(count, of: request)
    host.holdRefused(request, count)
    hosts.count(request)
  }

  private mutating func refuse(
    _ host: QueuedHost, _ error: DownloadError, at now: Duration, _ random: Double
  ) -> HostLimiter.Refusal {
    let refusal = host.limiter.refuse(error, at: now, retry, random: random)
    if host.limiter.cooldownUntil > .zero { needsTime = true }
    return refusal
  }

  /// Takes out requests that are held and wanted no more. What is in flight, or was given out, ends by itself.
  /// - Returns: those that were held; they have ended.
  mutating func withdraw(_ ids: Set<Int>) -> [DownloadRequest] {
    let withdrawn = hosts.all.flatMap { $0.withdraw(ids) } + refused.withdraw(ids)
    for request in withdrawn {
      hosts.uncount(request)
      refused.forget(request.id)
    }
    return withdrawn + (window?.withdraw(ids) ?? [])
  }

  // MARK: Further connections of a file

  /// - Returns: false if the host has no room, or if files wait for it: those go first.
  mutating func acquirePermit(at name: String, share: Int, at now: Duration) -> Bool {
    guard let host = hosts[name], !host.isWaitedFor, host.hasRoom(at: now),
      widths.count == 1 || host.mayHaveFurther(share)
    else { return false }
    host.begin(share)
    return true
  }

  mutating func releasePermit(at name: String, share: Int) {
    guard let host = hosts[name] else { return }
    host.release(share)
    host.limiter.drop()
  }

  /// The host refused a further connection.
  mutating func refusedPermit(
    at name: String, share: Int, after error: DownloadError, at now: Duration, random: Double
  ) {
    guard let host = hosts[name] else { return }
    host.release(share)
    // Only files themselves decide whether the host is given up.
    _ = refuse(host, error, at: now, random)
    noteQuotas(of: host)
  }

  // MARK: What must be done outside

  /// How many connections to a host, idle ones included, each share may keep from now on; nil for no limit.
  struct QuotaChange: Equatable {
    let host: String
    let quotas: [Int]?
  }

  private mutating func noteQuotas(of host: QueuedHost, answering: [Int]? = nil) {
    if let quotas = host.newQuotas(answering: answering) {
      quotaChanges.append(QuotaChange(host: host.name, quotas: quotas))
    }
  }

  var hasQuotaChanges: Bool { !quotaChanges.isEmpty }

  /// The changes for the transports, the earliest first.
  mutating func takeQuotaChanges() -> [QuotaChange] {
    defer { quotaChanges = [] }
    return quotaChanges
  }
}
