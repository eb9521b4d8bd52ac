package import DownloadModel
import Synchronization

/// Gives requests to lanes as their hosts can accept them: a source over a source. A request for a full host is held
/// back and others go first; a refused request is requeued; a host that refuses everything for too long is given up.
///
///     list ──► RequestQueue ──► lanes ──► host
///                   ▲                      │ 429, 503, no connection
///                   └──────────────────────┘
///
/// `RequestQueueState` holds the rules. This class is the lock around it. It also waits, reads the source and notifies
/// the transports. Not an actor: while no host is full, a request costs one lock and no job.
package final class RequestQueue: Sendable {
  fileprivate let source: any RequestSource
  private let shares: Int
  fileprivate let received: @Sendable () -> Int64
  fileprivate let stopwatch: Stopwatch
  fileprivate let random: @Sendable () -> Double
  private let limitConnections: @Sendable (_ host: String, _ quotas: [Int]?) -> Void
  fileprivate let state: Lock<RequestQueueState>
  /// Asks the reader to wait for the source, which no lane must do.
  private let reads = AsyncStream<Void>.makeStream()
  private let alarms = AsyncStream<Duration>.makeStream()
  /// False until a request first needs special treatment; lets the common path skip the lock. Written under the lock.
  fileprivate let hasHadAdvice = Atomic<Bool>(false)
  /// Whether some host is unknown; if none is, answers skip the lock. Written under the lock.
  fileprivate let hasUnknownHost = Atomic<Bool>(false)
  private let lastTicket = Atomic(0)

  /// Actions for after the lock is released.
  private struct Effects {
    var handed: [RequestQueueState.Handed] = []
    var reads = false
    var alarm: Duration?
  }

  /// - Parameters:
  ///   - lowered: ceilings of hosts that are shared out among processes.
  ///   - opening: requests at a time to an unknown host (HTTP rule 56).
  ///   - adaptive: `nil` for as many files at a time as there are lanes.
  ///   - received: body bytes of the whole run so far. Called under the lock: must neither block nor call the queue.
  ///   - rates: the most requests of each host in a time.
  ///   - notes: the channel by which hosts are shared with other processes; `nil` to share none.
  ///   - isBackground: whether it leaves hosts to all processes in the foreground.
  ///   - connections: connections of each share to a host, idle ones included; called like `received`.
  ///   - limitConnections: receives how many connections to a host each share may keep, `nil` for no limit; called like
  ///     `received`.
  package init(
    _ source: any RequestSource, ceiling: Int, lowered: [String: Int] = [:], opening: Int = .max,
    widths: [Int] = [.max],
    adaptive: AdaptiveConcurrency? = nil, received: @escaping @Sendable () -> Int64 = { 0 }, retry: RetryPolicy,
    clock: any Clock<Duration>, random: @escaping @Sendable () -> Double, order: RequestOrder = .list,
    looksAhead: Bool = false, rates: RequestRates = RequestRates(), notes: (any HostNotes)? = nil,
    isBackground: Bool = false,
    connections: @escaping @Sendable (_ host: String) -> [Int] = { _ in [] },
    limitConnections: @escaping @Sendable (_ host: String, _ quotas: [Int]?) -> Void = { _, _ in }
  ) {
    self.source = source
    self.received = received
    self.random = random
    self.limitConnections = limitConnections
    shares = widths.count
    stopwatch = Stopwatch(clock)
    let ranking = RequestRanking(order: order, seed: order == .random ? UInt64(random() * 0x1p53) : 0)
    state = Lock(
      RequestQueueState(
        ceiling: ceiling, lowered: lowered, opening: opening, widths: widths, retry: retry, adaptive: adaptive,
        ranking: ranking, looksAhead: looksAhead, rates: rates,
        sharing: notes.map { HostSharing($0, isBackground: isBackground, connections: connections) }))
  }

  /// Runs lanes over the queue. Beside them, child tasks of the calling task wait for a slow list and for the clock.
  /// Shares are available only here, so that no lane waits for a reader that does not run.
  /// - Parameter lanes: must not use the queue after it returns.
  package nonisolated(nonsending) func run<Value: Sendable, Failure: Error>(
    _ lanes: nonisolated(nonsending) (_ shares: [LoopQueue]) async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    // The children are cancelled and awaited when the lanes have ended, in every case.
    async let _: Void = readBeside()
    async let _: Void = watchClock()
    async let _: Void = addUpWork()
    return try await lanes((0..<shares).map { LoopQueue(queue: self, index: $0) })
  }

  private func readBeside() async {
    for await _ in reads.stream { receive(await source.next()) }
  }

  private func receive(_ request: DownloadRequest?) {
    // A cancelled task gets `nil` from a source that may have more; other lanes continue to read.
    if request == nil, Task.isCancelled { return change { $0.window.reader = .nobody } }
    change { [source] state in
      state.received(request, source.outlook)
      state.window.readAhead(besides: state.hosts.held, source.takeAtOnce)
    }
  }

  private func watchClock() async {
    await withDiscardingTaskGroup { group in
      for await time in alarms.stream {
        group.addTask { [self] in
          // A clock's sleep ends early only for a cancelled task.
          guard (try? await stopwatch.sleepUntil(time)) != nil else { return }
          change { state in if state.alarm == time { state.alarm = nil } }
        }
      }
    }
  }

  // MARK: Display and the user's changes

  package var width: RunWidth {
    state.withLock {
      var width = RunWidth(peak: $0.run.peak, lesson: $0.run.adaptive?.lesson, connections: $0.run.mostConnections)
      width.waited = $0.hosts.all.map(\.limiter.waited).max() ?? .zero
      width.work = $0.run.work
      return width
    }
  }

  /// Adds up the time of all files in flight, until the task is cancelled: ten samples a second, so that no file reads
  /// a clock for it.
  private func addUpWork() async {
    var last = stopwatch.elapsed()
    while (try? await Task.sleep(for: .milliseconds(100))) != nil {
      let now = stopwatch.elapsed()
      state.withLock { $0.run.work += (now - last) * $0.run.total }
      last = now
    }
  }

  /// Further connections of split files, without the first of each.
  package var further: Int { state.withLock { $0.run.further } }

  /// The hosts that keep requests waiting, the one with the most first.
  package var waits: [HostWait] {
    let now = stopwatch.elapsed()
    return state.withLock { $0.hosts.waits(at: now) }
  }

  package func pause(_ isPaused: Bool) { change { $0.run.isPaused = isPaused } }

  /// No more files start; those in flight end, and the run with them.
  package func endSoon() { change { $0.run.isEnding = true } }

  /// Raises or lowers the files at a time from now on; at least one, at most `most`.
  /// - Returns: the new number, and the share that needs one more lane for it; `nil` if none does.
  package func widen(by change: Int, most: Int) -> (count: Int, newLane: Int?) {
    self.change { $0.run.widen(by: change, most: most) }
  }

  /// See `DownloadRun.add`; false once everything has ended.
  package func add(_ requests: [DownloadRequest], keepers: Int) -> Bool {
    change { state in
      if state.isOver { return false }
      state.window.add(requests, keepers: keepers)
      return true
    }
  }

  /// Moves waiting requests before all others, as far as the list is read ahead.
  package func prefer(_ ids: Set<Int>) { change { $0.prefer(ids) } }

  /// Removes waiting requests that are no longer wanted, and returns them; they have ended.
  package func withdraw(_ ids: Set<Int>) -> [DownloadRequest] { change { $0.withdraw(ids) } }

  /// Files of a cancelled run that were waiting for a retry, and the bytes kept of each.
  package var unfinished: [(request: DownloadRequest, kept: Int64)] {
    state.withLock { $0.refused.unfinished.map { ($0.request, $0.meter.kept) } }
  }

  // MARK: For the shares

  /// The next request for a share; `nil` once everything has ended, or the task is cancelled.
  fileprivate nonisolated(nonsending) func next(for share: Int) async -> DownloadRequest? {
    while !Task.isCancelled {
      let step = change { [self] state in state.step(for: share, at: look(state), source.takeAtOnce) }
      switch step {
      case .give(let request): return request
      case .end: return nil
      case .read: receive(await source.next())
      case .wait: return await wait(for: share)
      }
    }
    return nil
  }

  /// Suspends a lane until it receives a request; `nil` as for `next`.
  private nonisolated(nonsending) func wait(for share: Int) async -> DownloadRequest? {
    let ticket = lastTicket.wrappingAdd(1, ordering: .relaxed).newValue
    return await withTaskCancellationHandler {
      await withCheckedContinuation { task in
        // A request that arrived since the lane asked is given to it at once.
        let waits = change { state in
          if Task.isCancelled { return false }
          state.lanes.append(WaitingLane(ticket: ticket, share: share, task: task))
          return true
        }
        if !waits { task.resume(returning: nil) }
      }
    } onCancel: {
      let lane = change { state in
        state.lanes.firstIndex { $0.ticket == ticket }.map { state.lanes.remove(at: $0) }
      }
      lane?.task?.resume(returning: nil)
    }
  }

  // MARK: Changes

  /// The only access that changes the state: after any change, waiting lanes receive the requests they can start now.
  func change<Value: Sendable>(_ body: (inout RequestQueueState) -> Value) -> Value {
    let (value, effects) = state.withLock { state in
      let value = body(&state)
      return (value, takeEffects(of: &state))
    }
    for (lane, request) in effects.handed { lane.task?.resume(returning: request) }
    if effects.reads { reads.continuation.yield() }
    if let alarm = effects.alarm { alarms.continuation.yield(alarm) }
    return value
  }

  /// Changes the state by a rule that needs the time.
  func change<Value: Sendable>(_ body: (inout RequestQueueState, _ now: Duration) -> Value) -> Value {
    let now = stopwatch.elapsed()
    return change { body(&$0, now) }
  }

  /// The time for rules that need it; in most runs none does, and no clock is read.
  private func look(_ state: borrowing RequestQueueState) -> Duration {
    state.run.isOpening || state.needsTime ? stopwatch.elapsed() : .zero
  }

  private func takeEffects(of state: inout RequestQueueState) -> Effects {
    var effects = Effects()
    let hadTime = state.needsTime
    let now = state.lanes.isEmpty && !state.needsTime ? .zero : look(state)
    if !state.lanes.isEmpty { effects.handed = state.settle(at: now, received: received, source.takeAtOnce) }
    state.tellOthers(at: now)
    let due = [state.due(at: now), state.hosts.looksAtIdle].compactMap(\.self).min()
    if let due, due < state.alarm ?? .seconds(Int64.max) {
      state.alarm = due
      effects.alarm = due
    }
    // A decision made without the time, just before another process appeared, is repeated with it.
    if state.needsTime, !hadTime, !state.lanes.isEmpty {
      state.alarm = .zero
      effects.alarm = .zero
    }
    if state.refused.hasAdvice { hasHadAdvice.store(true, ordering: .relaxed) }
    hasUnknownHost.store(state.hosts.hasUnknown, ordering: .relaxed)
    effects.reads = state.window.takeReading(besides: state.hosts.held)
    // Before the lanes continue: a loop that lost a connection to another loop's share should close it first.
    for change in state.hosts.takeQuotaChanges() { limitConnections(change.host, change.quotas) }
    return effects
  }
}

/// The source for one loop's lanes, which also report to it how each request ended. A host's connection limit is
/// divided among the shares (`QueuedHost`), and its files evenly: four large ones do not share one core.
package struct LoopQueue: RequestSource {
  let queue: RequestQueue
  let index: Int

  package nonisolated(nonsending) func next() async -> DownloadRequest? { await queue.next(for: index) }

  // The following methods call the rules of the same names (`RequestQueueState`) for this share and the current time.

  func advice(on request: DownloadRequest) -> RefusedRequests.Record {
    guard queue.hasHadAdvice.load(ordering: .relaxed) else { return RefusedRequests.Record() }
    return queue.state.withLock { $0.refused.advice(on: request) }
  }

  func ended(_ request: DownloadRequest, wasAsked: Bool, broke: Bool = false, next: BackoffEntry? = nil) {
    queue.change { [queue, index] state in
      let brokenAt = broke ? queue.stopwatch.elapsed() : nil
      // Most files need no measurement, and then no clock is read.
      if state.ended(request, share: index, wasAsked: wasAsked, brokenAt: brokenAt, next: next) {
        state.measure(at: queue.stopwatch.elapsed(), received: queue.received(), left: queue.source.outlook.left)
      }
    }
  }

  func requeue(_ file: BackoffEntry, after error: DownloadError, next: BackoffEntry?) -> RetryDecision {
    queue.change { [queue, index] in
      $0.requeue(file, share: index, after: error, next: next, at: $1, random: queue.random())
    }
  }

  /// - Parameter request: the id of the file's request; `nil` for a further segment.
  func heard(_ news: HostNews, of host: String, about request: Int? = nil) {
    if case .answered(nil) = news, !queue.hasUnknownHost.load(ordering: .relaxed) { return }
    queue.change { state, now in state.heard(news, of: host, about: request, at: now) }
  }

  func retry(_ file: BackoffEntry) -> Bool {
    queue.change { [index] state, now in
      state.retry(file, share: index, until: file.decision.next.map { now + $0.delay })
    }
  }

  func acquirePermit(at host: String) -> Bool {
    queue.change { [index] in $0.acquirePermit(at: host, share: index, at: $1) }
  }

  func releasePermit(at host: String, after error: DownloadError? = nil) {
    queue.change { [queue, index] in
      $0.releasePermit(at: host, share: index, after: error, at: $1, random: queue.random())
    }
  }
}

/// A lane that waits for a request.
struct WaitingLane {
  let ticket: Int
  let share: Int
  /// The lane's task; `nil` in a run without tasks.
  var task: CheckedContinuation<DownloadRequest?, Never>?
}
