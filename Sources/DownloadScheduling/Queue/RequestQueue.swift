// Long because: each rule of the state has its call here, under the one lock.

public import DownloadModel
import Synchronization

/// Gives requests to lanes as their hosts can take them: a source over a source.
///
/// A request whose host is full or in a cooldown is held back and others go first, so that no lane waits for
/// one host while another is idle. A request that its host refused is requeued. A host that refuses every
/// request for as long as the retry policy allows is given up: its further requests fail fast.
///
///     list ──► RequestQueue ──► lanes ──► host
///                   ▲                      │ 429, 503, no connection
///                   └──────────────────────┘
///
/// `RequestQueueState` holds the rules. This class is the lock around it, and does what must happen outside
/// the lock: lanes wait and are woken, the source is read, the transports get their quotas.
///
/// A lock and not an actor: while no host is full, a request then costs a lock and no job.
public final class RequestQueue: Sendable {
  private let source: any RequestSource
  private let shares: Int
  private let received: @Sendable () -> Int64
  private let stopwatch: Stopwatch
  private let random: @Sendable () -> Double
  private let limitConnections: @Sendable (_ host: String, _ quotas: [Int]?) -> Void
  private let elsewhere: (@Sendable (_ host: String) -> Bool)?
  private let onHost: (@Sendable (_ host: String, _ isUnderWay: Bool) -> Void)?
  private let guarded: Mutex<Guarded>
  private let reader = RequestReader()
  /// Whether there ever was advice on a request. In most runs there never is, and then no file takes the lock
  /// for it. Written within the lock, before the request is given out.
  private let hasHadAdvice = Atomic<Bool>(false)

  private struct Guarded {
    var state: RequestQueueState
    /// Suspended lanes, by ticket.
    var sleeping: [Int: CheckedContinuation<Void, Never>] = [:]
    /// Whether a thread is passing quota changes to the transports.
    var isTelling = false
    /// Long files that may be asked to give way, by their requests' numbers.
    var yielders: [Int: YieldSignal] = [:]

    /// What must be done after the lock is released.
    mutating func takeEffects(_ elapsed: () -> Duration) -> Effects {
      var effects = Effects()
      if !yielders.isEmpty {
        if state.mayDemand {
          for (id, demand) in state.takeDemands(at: elapsed()) {
            if let signal = yielders[id] { effects.demands.append((signal, demand)) }
          }
        }
        for id in yielders.keys where !state.isListed(id) { yielders[id] = nil }
      }
      effects.reads = state.takeReading()
      if state.hasHostChanges { effects.hosts = state.takeHostChanges() }
      for ticket in state.takeLanesToWake() {
        // A lane that is not suspended yet will find that it need not wait.
        if let lane = sleeping.removeValue(forKey: ticket) { effects.lanes.append(lane) }
      }
      effects.tells = state.hasQuotaChanges && !isTelling
      if effects.tells { isTelling = true }
      return effects
    }
  }

  private struct Effects {
    var lanes: [CheckedContinuation<Void, Never>] = []
    var tells = false
    /// Whether the reader is to wait for the source.
    var reads = false
    var demands: [(YieldSignal, YieldRule.Demand)] = []
    var hosts: [(name: String, isUnderWay: Bool)] = []
  }

  /// - Parameters:
  ///   - ceiling: downloads from one host at a time, at most.
  ///   - widths: lanes of each share, in the order of the network loops. Most callers need one share only.
  ///   - adaptive: finds how many files at a time are good, within the widths; nil for as many as there are
  ///     lanes.
  ///   - received: body bytes of the whole run so far. Asked within the lock, so it must neither block nor
  ///     call the queue.
  ///   - random: draws from 0 up to, but not including, 1 for the jitter.
  ///   - order: in which order requests go that are not urgent.
  ///   - looksAhead: whether the list is read ahead for urgent requests from the beginning.
  ///   - elsewhere: whether another process wants a host, which is then left to it; nil for a run that leaves
  ///     none. Asked within the lock, so it must neither block nor call the queue.
  ///   - onHost: told when a host begins or ceases to have files under way; nil for a run that keeps that to
  ///     itself. Calls may overtake each other; for each host, their sum counts.
  ///   - limitConnections: called with the number of connections to a host that each share may keep, learnt
  ///     from the host's answers; nil for no limit. One call at a time, in the order in which the limits were
  ///     learnt.
  public init(
    _ source: any RequestSource, ceiling: Int, widths: [Int] = [.max], adaptive: AdaptiveConcurrency? = nil,
    received: @escaping @Sendable () -> Int64 = { 0 }, retry: RetryPolicy, clock: any Clock<Duration>,
    random: @escaping @Sendable () -> Double, order: RequestOrder = .list, looksAhead: Bool = false,
    elsewhere: (@Sendable (_ host: String) -> Bool)? = nil,
    onHost: (@Sendable (_ host: String, _ isUnderWay: Bool) -> Void)? = nil,
    limitConnections: @escaping @Sendable (_ host: String, _ quotas: [Int]?) -> Void = { _, _ in }
  ) {
    let widths = widths.isEmpty ? [.max] : widths
    self.source = source
    shares = widths.count
    self.received = received
    self.random = random
    self.limitConnections = limitConnections
    (self.elsewhere, self.onHost) = (elsewhere, onHost)
    stopwatch = Stopwatch(clock)
    let ranking = RequestRanking(
      order: order, seed: order == .random ? UInt64(random() * 0x1p53) : 0)
    guarded = Mutex(
      Guarded(
        state: RequestQueueState(
          ceiling: ceiling, widths: widths, retry: retry, adaptive: adaptive, ranking: ranking,
          looksAhead: looksAhead, isBackground: elsewhere != nil, tellsHosts: onHost != nil)))
  }

  /// Runs lanes over the queue, and beside them, as a child of the calling task, the reader that waits for a
  /// slow list so that no lane has to. Shares can be had only here, so that no lane can wait for a reader
  /// that does not run.
  /// - Parameter lanes: called with a source for each share; must not use the queue after it returns.
  /// - Throws: what `lanes` throws.
  public nonisolated(nonsending) func run<Value: Sendable, Failure: Error>(
    _ lanes: nonisolated(nonsending) (_ shares: [RequestQueueShare]) async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    // The child is cancelled and awaited when the lanes have ended, in every case.
    async let _: Void = workBeside()
    return try await lanes((0..<shares).map { RequestQueueShare(self, $0) })
  }

  /// The most files that were in flight at a time.
  public var peak: Int { guarded.withLock { $0.state.peak } }

  /// How many files went at a time, and why.
  public var width: RunWidth { guarded.withLock { RunWidth(peak: $0.state.peak, lesson: $0.state.lesson) } }

  /// The hosts that keep requests waiting, the one with most of them first. For a display.
  public var waits: [HostWait] {
    let now = stopwatch.elapsed()
    return guarded.withLock { $0.state.waits(at: now) }
  }

  /// No lane gets a request until it goes on.
  public func pause(_ isPaused: Bool) { change { $0.pause(isPaused) } }

  /// Takes more files at a time from now on, or fewer; at least one.
  /// - Parameter most: how many lanes there may be.
  /// - Returns: how many, and the index of the share that needs one more lane for that; nil if none does.
  public func widen(by change: Int, most: Int) -> (count: Int, newLane: Int?) {
    self.change { $0.widen(by: change, most: most) }
  }

  /// Takes out requests that wait and are wanted no more.
  /// - Returns: those that waited here; they have ended.
  func withdraw(_ ids: Set<Int>) -> [DownloadRequest] { change { $0.withdraw(ids) } }

  private func workBeside() async {
    guard let elsewhere else { return await readBeside() }
    async let _: Void = readBeside()
    // Until it is cancelled.
    await lookElsewhere(elsewhere)
  }

  private func readBeside() async {
    while await reader.isWanted() { receive(await source.next()) }
  }

  private func receive(_ request: DownloadRequest?) {
    // Read by a cancelled task, a source gives nil for that reason alone; other lanes go on reading.
    if request == nil, Task.isCancelled { return change { $0.stopReading() } }
    if request == nil { reader.end() }
    change { [source] state in
      state.received(request, source.outlook)
      guard state.readsAhead else { return }
      while state.readsAhead, let more = source.takeAtOnce() { state.add(more) }
      state.sortUrgent()
    }
  }

  /// How often it is asked whether another process wants a host.
  private static let lookInterval = Duration.seconds(1)

  private func lookElsewhere(_ isElsewhere: @Sendable (String) -> Bool) async {
    var next = Self.lookInterval
    // A clock's sleep ends early only for a cancelled task.
    while (try? await stopwatch.sleep(until: next)) != nil {
      change { state in state.leave(Set(state.hostNames.filter(isElsewhere))) }
      next = stopwatch.elapsed() + Self.lookInterval
    }
  }

  // MARK: For the shares

  /// The next request for a share; nil once everything has ended, or the task is cancelled.
  fileprivate nonisolated(nonsending) func next(for share: Int) async -> DownloadRequest? {
    while !Task.isCancelled {
      switch takeStep(share) {
      case .give(let request): return request
      case .end: return nil
      case .read: receive(await source.next())
      case .readBeside: reader.want()
      case .wait(let ticket, let time): await wait(ticket, until: time)
      case .draw: break  // done within the lock
      }
    }
    change { $0.leave() }
    return nil
  }

  private func takeStep(_ share: Int) -> RequestQueueState.Step {
    let (step, effects) = guarded.withLock { guarded -> (RequestQueueState.Step, Effects) in
      let isOpening = guarded.state.isOpening
      let now = isOpening || guarded.state.needsTime ? stopwatch.elapsed() : .zero
      if isOpening { guarded.state.open(at: now, received: received()) }
      var step = guarded.state.step(for: share, at: now)
      while case .draw = step { step = guarded.state.drawn(source.takeAtOnce(), for: share, at: now) }
      if elsewhere != nil { step = stepElsewhere(step, share, at: now, &guarded.state) }
      return (step, takeEffects(of: &guarded))
    }
    carryOut(effects)
    return step
  }

  /// Takes back what was given for a host that another process wants.
  @inline(never)
  private func stepElsewhere(
    _ step: RequestQueueState.Step, _ share: Int, at now: Duration, _ state: inout RequestQueueState
  ) -> RequestQueueState.Step {
    var step = step
    while case .give(let request) = step, elsewhere?(request.address.hostAndPort) == true {
      state.requeueInOrder(request, share: share)
      state.leave(Set(state.hostNames.filter { elsewhere?($0) == true }))
      step = state.step(for: share, at: now)
      while case .draw = step { step = state.drawn(source.takeAtOnce(), for: share, at: now) }
    }
    return step
  }

  private func takeEffects(of guarded: inout Guarded) -> Effects {
    if guarded.state.hasAdvice { hasHadAdvice.store(true, ordering: .relaxed) }
    return guarded.takeEffects(stopwatch.elapsed)
  }

  fileprivate func advice(on request: DownloadRequest) -> RequestQueueState.Advice {
    guard hasHadAdvice.load(ordering: .relaxed) else { return .ask(waited: nil) }
    return change { $0.advice(on: request) }
  }

  /// Changes the state, and then does outside the lock what the change requires.
  func change<Value: Sendable>(_ body: @Sendable (inout RequestQueueState) -> Value) -> Value {
    let (value, effects) = guarded.withLock { guarded -> (Value, Effects) in
      let value = body(&guarded.state)
      return (value, takeEffects(of: &guarded))
    }
    carryOut(effects)
    return value
  }

  fileprivate func ended(_ request: DownloadRequest, share: Int, wasAsked: Bool, broke: Bool) {
    change { [stopwatch, received, source] state in
      let brokenAt = broke ? stopwatch.elapsed() : nil
      // Most files need no measurement, and then no clock is read.
      if state.ended(request, share: share, wasAsked: wasAsked, brokenAt: brokenAt) {
        state.measure(at: stopwatch.elapsed(), received: received(), left: source.outlook.left)
      }
    }
  }

  /// Notes a long file that can go on later where it was.
  /// - Returns: what tells it to give way; nil for a run in which none has to.
  fileprivate func enlist(_ request: DownloadRequest) -> YieldSignal? {
    let (signal, effects) = guarded.withLock { guarded -> (YieldSignal?, Effects) in
      guard guarded.state.enlist(request) else { return (nil, Effects()) }
      let signal = YieldSignal()
      guarded.yielders[request.id] = signal
      return (signal, takeEffects(of: &guarded))
    }
    carryOut(effects)
    return signal
  }

  /// Changes the state by a rule that needs the time.
  func change<Value: Sendable>(_ body: @Sendable (inout RequestQueueState, _ now: Duration) -> Value) -> Value
  {
    let now = stopwatch.elapsed()
    return change { body(&$0, now) }
  }

  /// Changes the state by a rule that also needs a random number, which costs a system call.
  func change<Value: Sendable>(
    _ body: @Sendable (inout RequestQueueState, _ now: Duration, _ random: Double) -> Value
  ) -> Value {
    let (now, random) = (stopwatch.elapsed(), random())
    return change { body(&$0, now, random) }
  }

  // MARK: Outside the lock

  private func carryOut(_ effects: Effects) {
    for lane in effects.lanes { lane.resume() }
    if effects.reads { reader.want() }
    for (signal, demand) in effects.demands { signal.raise(demand) }
    for host in effects.hosts { onHost?(host.name, host.isUnderWay) }
    if effects.tells { tellQuotas() }
  }

  /// One thread at a time passes on the changes, until there are none left, so that the changes of a host
  /// arrive in order. A thread that makes another change meanwhile leaves it to that one.
  private func tellQuotas() {
    while true {
      let changes = guarded.withLock { guarded in
        let changes = guarded.state.takeQuotaChanges()
        guarded.isTelling = !changes.isEmpty
        return changes
      }
      if changes.isEmpty { return }
      for change in changes { limitConnections(change.host, change.quotas) }
    }
  }

  private nonisolated(nonsending) func wait(_ ticket: Int, until time: Duration?) async {
    guard let time else { return await sleep(ticket) }
    guard stopwatch.elapsed() < time else { return wakeUp(ticket) }
    await withTaskGroup { group in
      // If cancelled, the lane asks again.
      group.addTask { [stopwatch] in try? await stopwatch.sleep(until: time) }
      group.addTask { await self.sleep(ticket) }
      await group.next()
      group.cancelAll()
    }
  }

  /// Returns at once if the lane was woken since the step that led here.
  private nonisolated(nonsending) func sleep(_ ticket: Int) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let mustWait = guarded.withLock { guarded in
          guard !Task.isCancelled, guarded.state.isWaiting(ticket) else { return false }
          guarded.sleeping[ticket] = continuation
          return true
        }
        if !mustWait {
          wakeUp(ticket)
          continuation.resume()
        }
      }
    } onCancel: {
      wakeUp(ticket)
    }
  }

  /// Ends the lane's wait, if it still waits.
  private func wakeUp(_ ticket: Int) {
    guarded.withLock { guarded in
      guarded.state.stopWaiting(ticket)
      return guarded.sleeping.removeValue(forKey: ticket)
    }?.resume()
  }
}

/// The source for one loop's lanes, which also report to it how each request ended.
///
/// A run over several network loops has one share for each loop, because each loop has connections of its
/// own. The number of downloads that a host takes at a time is divided among the shares (`QueuedHost`), and
/// its files are dealt evenly, so that four large files do not end up on one core.
public struct RequestQueueShare: RequestSource {
  let queue: RequestQueue
  /// From 0; an index into the queue's widths.
  let index: Int

  init(_ queue: RequestQueue, _ index: Int) {
    self.queue = queue
    self.index = index
  }

  /// The next request whose host can take one; nil once everything has ended, or if the task is cancelled.
  public nonisolated(nonsending) func next() async -> DownloadRequest? { await queue.next(for: index) }

  /// How to ask a request that was given out. Must be called once, before the request is asked.
  func advice(on request: DownloadRequest) -> RequestQueueState.Advice { queue.advice(on: request) }

  /// Notes that a download ended, well or badly, and does not come again.
  /// - Parameters:
  ///   - wasAsked: whether its host was asked.
  ///   - broke: whether its transfer broke.
  func ended(_ request: DownloadRequest, wasAsked: Bool, broke: Bool = false) {
    queue.ended(request, share: index, wasAsked: wasAsked, broke: broke)
  }

  /// Requeues a request that its host refused.
  /// - Returns: nil if it does not come again, because it was refused too often or the host was given up.
  ///   Then its download has ended.
  func requeue(_ request: DownloadRequest, after error: DownloadError) -> NextAttempt? {
    queue.change { [index] in $0.requeue(request, share: index, after: error, at: $1, random: $2) }
  }

  /// Requeues a request that was never sent: it comes again when the host has room.
  func requeueUnasked(_ request: DownloadRequest) {
    queue.change { [index] in $0.requeueUnasked(request, share: index) }
  }

  /// Requeues a request whose file gave way; it goes on where the run's order says.
  func requeueYielded(_ request: DownloadRequest) {
    queue.change { [index] in $0.requeueInOrder(request, share: index) }
  }

  /// What tells a file under way, which can go on later where it was, to give way; nil for a run in which
  /// none has to.
  func enlist(_ request: DownloadRequest) -> YieldSignal? { queue.enlist(request) }

  /// Requeues a request for which this machine was short of descriptors or memory
  /// (`DownloadError.Code.resources`).
  /// - Returns: nil if no other file is in flight whose end could help, and waiting did not help either. Then
  ///   its download has ended.
  func requeueForRoom(_ request: DownloadRequest) -> NextAttempt? {
    queue.change { [index] state, now in state.requeueForRoom(request, share: index, at: now) }
  }

  /// Permits for further connections of a file.
  func permits(for request: DownloadRequest) -> ConnectionPermits {
    ConnectionPermits(queue: queue, host: request.address.hostAndPort, share: index, id: request.id)
  }
}
