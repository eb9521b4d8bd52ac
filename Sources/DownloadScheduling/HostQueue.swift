public import DownloadModel
import Synchronization

/// Gives out requests as their hosts take them: a source over a source.
///
/// A request whose host is full or wants quiet is held back and others go first, so that no lane waits for one host
/// while another is idle. What a host refused comes back into the queue. A host that refuses everybody for as long as
/// the retry policy allows is given up: what is asked of it then fails at once.
///
///     list ──► HostQueue ──► lanes ──► host
///                  ▲                    │ 429, 503, no connection
///                  └────────────────────┘
///
/// Whoever runs lanes over it runs `read()` beside them, which waits for a slow list in their place.
///
/// A lock and not an actor: while no host is full, a request passes without a job, at the price of a lock.
public final class HostQueue: RequestSource {
  /// Requests held back at most: as far ahead is looked for a host that is free. It bounds memory.
  static let lookahead = 1024
  /// Hosts that are remembered though nothing is to be remembered of them.
  static let hosts = 64
  /// A file that alone is refused, while its host serves others, is tried so often.
  static let refusalsOfOneFile = 10

  let source: any RequestSource
  let ceiling: Int
  let widths: [Int]
  let received: @Sendable () -> Int64
  let retry: RetryPolicy
  let clock: any Clock<Duration>
  let elapsed: @Sendable () -> Duration
  let random: @Sendable () -> Double
  /// Told how many connections each share may keep to a host, as soon as that was learnt, and nil when it is as many as
  /// are wanted again. Called under the queue's lock.
  let keep: @Sendable (_ host: String, _ quotas: [Int]?) -> Void
  let state: Mutex<State>
  private let reader = RequestReader()

  struct State {
    var hosts: [String: Host] = [:]
    var heldCount = 0
    /// Nil where the number of files at a time is given.
    var jobs: JobsPace?
    /// Files at a time that this machine has room for, as far as it has turned out; given numbers hold below it only.
    var room = Int.max
    /// Files that ended well.
    var ended = 0
    /// The most that were under way at a time.
    var peak = 0
    /// Given out and not ended, by share.
    var inFlight: [Int]
    var sourceHasEnded = false
    /// How often a request that comes again was refused.
    var refusals: [Int: Int] = [:]
    /// Requests that come again because they were left unanswered, and for how long they were.
    var overtaken: [Int: Duration] = [:]
    /// Why a request that was given out is not to be asked.
    var verdicts: [Int: DownloadError] = [:]
    /// What hosts that were given up were given up for.
    var failures: [String: DownloadError] = [:]
    /// Lanes that wait, the longest first.
    var waiting: [Waiter] = []
    var nextTicket = 0
    /// Whether the source is being waited for, by a lane or beside the lanes.
    var isReading = false
    /// Grows with each change that a waiting lane may want to know of.
    var changes = 0

    init(shares: Int, _ jobs: JobsPace?) {
      inFlight = Array(repeating: 0, count: shares)
      self.jobs = jobs
    }

    var isIdle: Bool { inFlight.allSatisfy { $0 == 0 } }
    var isFull: Bool { total >= room || jobs.map { total >= $0.limit } ?? false }
    var total: Int { inFlight.reduce(0, +) }
  }

  /// - Parameters:
  ///   - ceiling: downloads from one host at a time, at most.
  ///   - jobs: finds how many files at a time are good, within the widths; nil for as many as there are lanes.
  ///   - received: body bytes of the whole run so far.
  ///   - widths: lanes of each share; see `HostQueueShare`. One share is all that most callers need.
  ///   - random: draws from 0 up to, but not including, 1 for the jitter.
  ///   - keep: told how many connections to a host each share may keep, by what the host was seen to take; nil for no
  ///     limit. It must not wait, and not call back.
  public init(
    _ source: any RequestSource, ceiling: Int, widths: [Int] = [.max], jobs: JobsPace? = nil,
    received: @escaping @Sendable () -> Int64 = { 0 }, retry: RetryPolicy, clock: any Clock<Duration>,
    random: @escaping @Sendable () -> Double,
    keep: @escaping @Sendable (_ host: String, _ quotas: [Int]?) -> Void = { _, _ in }
  ) {
    self.keep = keep
    self.received = received
    self.source = source
    self.widths = widths.isEmpty ? [.max] : widths
    state = Mutex(State(shares: self.widths.count, jobs))
    self.ceiling = ceiling
    self.retry = retry
    self.clock = clock
    self.random = random
    elapsed = Stopwatch(clock).elapsed
  }

  private enum Step {
    case give(DownloadRequest)
    /// Nothing can happen before the source gives something.
    case read
    /// The source is to be waited for, but not by a lane: a request may become ready meanwhile.
    case readBeside
    case end
    /// Until something changes, or a host's quiet ends.
    case wait(changes: Int, quietEnds: Duration?)
  }

  /// The next request whose host takes one; nil once everything has ended.
  public nonisolated(nonsending) func next() async -> DownloadRequest? { await next(for: 0) }

  nonisolated(nonsending) func next(for share: Int) async -> DownloadRequest? {
    while !Task.isCancelled {
      switch takeStep(share) {
      case .give(let request): return request
      case .end: return nil
      case .read: receive(await source.next())
      case .readBeside: reader.want()
      case .wait(let changes, let quietEnds): await wait(share, changes, quietEnds)
      }
    }
    return nil
  }

  private func takeStep(_ share: Int) -> Step {
    let (step, woken) = state.withLock { state -> (Step, [Waiter]) in
      let step = nextStep(share, &state)
      switch step {
      case .give, .end:
        // Whoever waits beside this lane may find more, or may now be the one whose turn it is.
        state.changes += 1
        return (step, Self.takeFirstOfEachShare(&state))
      default: return (step, [])
      }
    }
    for waiter in woken { waiter.continuation.resume() }
    return step
  }

  private func nextStep(_ share: Int, _ state: inout State) -> Step {
    switch look(share, &state) {
    case .give(let request): return .give(request)
    case .tooMany: return .wait(changes: state.changes, quietEnds: nil)
    case .sourceWaits where !state.isReading:
      state.isReading = true
      return state.heldCount == 0 && state.isIdle ? .read : .readBeside
    case .sourceWaits, .nothing: break
    }
    if state.sourceHasEnded, state.heldCount == 0, state.isIdle { return .end }
    let now = elapsed()
    let quiet = state.hosts.values.filter { $0.isWaitedFor && $0.pace.quietUntil > now }
    return .wait(changes: state.changes, quietEnds: quiet.map(\.pace.quietUntil).min())
  }

  /// The most files that were under way at a time.
  public var peak: Int { state.withLock { $0.peak } }

  /// Waits for the source where no lane can. A child of the run, beside its lanes.
  ///
  /// Returns when the source has ended, or the task is cancelled.
  public func read() async {
    while await reader.isWanted() { receive(await source.next()) }
  }

  private func receive(_ request: DownloadRequest?) {
    if request == nil { reader.end() }
    change { state in
      state.isReading = false
      guard let request else {
        state.sourceHasEnded = true
        return
      }
      self.host(of: request, &state).held.append(request)
      state.heldCount += 1
    }
  }
}
