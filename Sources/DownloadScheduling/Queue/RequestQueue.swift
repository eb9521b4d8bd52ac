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
  private let clock: any Clock<Duration>
  private let elapsed: @Sendable () -> Duration
  private let random: @Sendable () -> Double
  private let limitConnections: @Sendable (_ host: String, _ quotas: [Int]?) -> Void
  private let guarded: Mutex<Guarded>
  private let reader = RequestReader()

  private struct Guarded {
    var state: RequestQueueState
    /// Suspended lanes, by ticket.
    var sleeping: [Int: CheckedContinuation<Void, Never>] = [:]
    /// Whether a thread is passing quota changes to the transports.
    var isTelling = false

    /// What must be done after the lock is released.
    mutating func takeEffects() -> Effects {
      var effects = Effects()
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
  }

  /// - Parameters:
  ///   - ceiling: downloads from one host at a time, at most.
  ///   - widths: lanes of each share, in the order of the network loops. Most callers need one share only.
  ///   - adaptive: finds how many files at a time are good, within the widths; nil for as many as there are
  ///     lanes.
  ///   - received: body bytes of the whole run so far. It must neither block nor call the queue.
  ///   - random: draws from 0 up to, but not including, 1 for the jitter.
  ///   - limitConnections: called with the number of connections to a host that each share may keep, learnt
  ///     from the host's answers; nil for no limit. One call at a time, in the order in which the limits were
  ///     learnt.
  public init(
    _ source: any RequestSource, ceiling: Int, widths: [Int] = [.max], adaptive: AdaptiveConcurrency? = nil,
    received: @escaping @Sendable () -> Int64 = { 0 }, retry: RetryPolicy, clock: any Clock<Duration>,
    random: @escaping @Sendable () -> Double,
    limitConnections: @escaping @Sendable (_ host: String, _ quotas: [Int]?) -> Void = { _, _ in }
  ) {
    let widths = widths.isEmpty ? [.max] : widths
    self.source = source
    shares = widths.count
    self.received = received
    self.clock = clock
    self.random = random
    self.limitConnections = limitConnections
    elapsed = Stopwatch(clock).elapsed
    guarded = Mutex(
      Guarded(
        state: RequestQueueState(ceiling: ceiling, widths: widths, retry: retry, adaptive: adaptive)))
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
    async let _: Void = readBeside()
    return try await lanes((0..<shares).map { RequestQueueShare(self, $0) })
  }

  /// The most files that were in flight at a time.
  public var peak: Int { guarded.withLock { $0.state.peak } }

  private func readBeside() async {
    while await reader.isWanted() { receive(await source.next()) }
  }

  private func receive(_ request: DownloadRequest?) {
    // Read by a cancelled task, a source gives nil for that reason alone; other lanes go on reading.
    if request == nil, Task.isCancelled { return change { $0.stopReading() } }
    if request == nil { reader.end() }
    change { $0.received(request) }
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
      let now = guarded.state.needsTime ? elapsed() : .zero
      var step = guarded.state.step(for: share, at: now)
      while case .draw = step { step = guarded.state.drawn(source.takeAtOnce(), for: share, at: now) }
      return (step, guarded.takeEffects())
    }
    carryOut(effects)
    return step
  }

  /// Changes the state, and then does outside the lock what the change requires.
  func change<Value: Sendable>(_ body: @Sendable (inout RequestQueueState) -> Value) -> Value {
    let (value, effects) = guarded.withLock { guarded -> (Value, Effects) in
      let value = body(&guarded.state)
      return (value, guarded.takeEffects())
    }
    carryOut(effects)
    return value
  }

  fileprivate func ended(_ request: DownloadRequest, share: Int, wasAsked: Bool, broke: Bool) {
    change { [elapsed, received] state in
      let brokenAt = broke ? elapsed() : nil
      // Most files need no measurement, and then no clock is read.
      if state.ended(request, share: share, wasAsked: wasAsked, brokenAt: brokenAt) {
        state.measure(at: elapsed(), received: received())
      }
    }
  }

  /// Changes the state by a rule that needs the time and a random number.
  func change<Value: Sendable>(
    _ body: @Sendable (inout RequestQueueState, _ now: Duration, _ random: Double) -> Value
  ) -> Value {
    let (now, random) = (elapsed(), random())
    return change { body(&$0, now, random) }
  }

  // MARK: Outside the lock

  private func carryOut(_ effects: Effects) {
    for lane in effects.lanes { lane.resume() }
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
    let pause = time - elapsed()
    guard pause > .zero else { return wakeUp(ticket) }
    await withTaskGroup { group in
      group.addTask { [clock] in try? await clock.sleep(for: pause) }  // if cancelled, the lane asks again
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
  func advice(on request: DownloadRequest) -> RequestQueueState.Advice {
    queue.change { $0.advice(on: request) }
  }

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

  /// Requeues a request for which this machine was short of descriptors or memory
  /// (`DownloadError.Code.resources`).
  /// - Returns: nil if no other file is in flight whose end could help, and waiting did not help either. Then
  ///   its download has ended.
  func requeueForRoom(_ request: DownloadRequest) -> NextAttempt? {
    queue.change { [index] state, now, _ in state.requeueForRoom(request, share: index, at: now) }
  }

  /// Permits for further connections of a file.
  func permits(for request: DownloadRequest) -> ConnectionPermits {
    ConnectionPermits(queue: queue, host: request.address.hostAndPort, share: index)
  }
}

/// When the reader must wait for the source: a signal from lanes, which must not wait for it themselves, to
/// the one task that does.
///
/// That task is a child of the run (`RequestQueue.run`), so that the run's cancellation reaches it whatever
/// the lanes are doing. It once was an independent task that waiting lanes cancelled; when all lanes were
/// busy, nothing ended its wait for an open pipe.
final class RequestReader: Sendable {
  private enum Phase {
    /// No lane needs the source.
    case idle
    /// The source must be read, and the reader has not asked yet.
    case wanted
    case waiting(CheckedContinuation<Bool, Never>)
    /// The source gives nothing more, or the run is cancelled.
    case ended
  }

  private let phase = Mutex(Phase.idle)

  /// Tells the reader to wait for the source. Called once for each answer of `isWanted`.
  func want() {
    phase.withLock { phase -> CheckedContinuation<Bool, Never>? in
      switch phase {
      case .idle: phase = .wanted
      case .waiting(let reader):
        phase = .idle
        return reader
      case .wanted, .ended: break
      }
      return nil
    }?.resume(returning: true)
  }

  func end() {
    phase.withLock { phase -> CheckedContinuation<Bool, Never>? in
      defer { phase = .ended }
      if case .waiting(let reader) = phase { return reader }
      return nil
    }?.resume(returning: false)
  }

  /// Suspends until the source must be read. For one task.
  /// - Returns: false once there is nothing more to read, or if the task is cancelled.
  func isWanted() async -> Bool {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let answer = phase.withLock { phase -> Bool? in
          switch phase {
          case .idle, .waiting: phase = .waiting(continuation)
          case .wanted:
            phase = .idle
            return true
          case .ended: return false
          }
          return nil
        }
        if let answer { continuation.resume(returning: answer) }
      }
    } onCancel: {
      end()
    }
  }
}
