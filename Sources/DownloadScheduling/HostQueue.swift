import DequeModule
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
/// A lock and not an actor: while no host is full, a request passes without a job, at the price of a lock.
public final class HostQueue: RequestSource {
  /// Requests held back at most: as far ahead is looked for a host that is free. It bounds memory.
  static let lookahead = 1024
  /// Hosts that are remembered though nothing is to be remembered of them.
  private static let hosts = 64
  /// A file that alone is refused, while its host serves others, is tried so often.
  static let refusalsOfOneFile = 10

  private let source: any RequestSource
  private let ceiling: Int
  private let retry: RetryPolicy
  let clock: any Clock<Duration>
  let elapsed: @Sendable () -> Duration
  private let random: @Sendable () -> Double
  let state = Mutex(State())

  /// A reference, because each file looks at its host twice.
  final class Host {
    var pace: HostPace
    /// Not asked yet.
    var held: Deque<DownloadRequest> = []
    /// Refused once: behind those that were never asked, so that one file that is always refused holds up no other.
    var refused: Deque<DownloadRequest> = []
    /// Not to be asked: the host was given up with them in the queue.
    var doomed: Deque<DownloadRequest> = []

    init(_ pace: HostPace) { self.pace = pace }

    var isWaitedFor: Bool { !held.isEmpty || !refused.isEmpty }
    func isReady(at now: Duration) -> Bool { !doomed.isEmpty || isWaitedFor && pace.hasRoom(at: now) }
    var earliest: Int { [doomed.first, held.first, refused.first].compactMap { $0?.id }.min() ?? .max }
  }

  struct State {
    var hosts: [String: Host] = [:]
    var heldCount = 0
    var inFlight = 0
    var sourceHasEnded = false
    /// How often a request that comes again was refused.
    var refusals: [Int: Int] = [:]
    /// Why a request that was given out is not to be asked.
    var verdicts: [Int: DownloadError] = [:]
    /// What hosts that were given up were given up for.
    var failures: [String: DownloadError] = [:]
    var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    var nextTicket = 0
    /// Whether the source is being waited for behind the lanes, and by whom.
    var isReading = false
    var reader: Task<Void, Never>?
    /// Grows with each change that a waiting lane may want to know of.
    var changes = 0
  }

  /// - Parameters:
  ///   - ceiling: downloads from one host at a time, at most.
  ///   - random: draws from 0 up to, but not including, 1 for the jitter.
  public init(
    _ source: any RequestSource, ceiling: Int, retry: RetryPolicy, clock: any Clock<Duration>,
    random: @escaping @Sendable () -> Double
  ) {
    self.source = source
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
    case readBehind
    case end
    /// Until something changes, or a host's quiet ends.
    case wait(changes: Int, quietEnds: Duration?)
  }

  /// The next request whose host takes one; nil once everything has ended.
  public nonisolated(nonsending) func next() async -> DownloadRequest? {
    while !Task.isCancelled {
      switch step() {
      case .give(let request): return request
      case .end: return nil
      case .read: receive(await source.next(), isReader: false)
      case .readBehind: readBehind()
      case .wait(let changes, let quietEnds): await wait(changes, quietEnds)
      }
    }
    state.withLock { $0.reader }?.cancel()
    return nil
  }

  private func step() -> Step {
    state.withLock { state in
      let now = state.heldCount == 0 ? .zero : elapsed()
      if state.heldCount > 0, let request = Self.takeHeld(&state, now) { return .give(request) }
      while !state.sourceHasEnded, state.heldCount < Self.lookahead {
        guard let request = source.takeAtOnce() else {
          if state.isReading { break }
          if state.heldCount == 0, state.inFlight == 0 { return .read }
          state.isReading = true
          return .readBehind
        }
        if admit(request, &state) { return .give(request) }
      }
      if state.sourceHasEnded, state.heldCount == 0, state.inFlight == 0 { return .end }
      let quiet = state.hosts.values.filter { $0.isWaitedFor && $0.pace.quietUntil > now }
      return .wait(changes: state.changes, quietEnds: quiet.map(\.pace.quietUntil).min())
    }
  }

  private func readBehind() {
    // Unstructured, since it belongs to no lane: whichever lane is free takes what it brings. It ends with the source,
    // and a lane that is cancelled cancels it.
    let reader = Task { receive(await source.next(), isReader: true) }
    state.withLock { $0.reader = reader }
  }

  private func receive(_ request: DownloadRequest?, isReader: Bool) {
    change { state in
      if isReader { state.isReading = false }
      guard let request else {
        state.sourceHasEnded = true
        return
      }
      self.host(of: request, &state).held.append(request)
      state.heldCount += 1
    }
  }

  /// Of the hosts that take one, that of the earliest request: so the list's order is kept as far as it can be.
  private static func takeHeld(_ state: inout State, _ now: Duration) -> DownloadRequest? {
    let ready = state.hosts.filter { $0.value.isReady(at: now) }
    guard let (name, host) = ready.min(by: { $0.value.earliest < $1.value.earliest }) else { return nil }
    let isDoomed = !host.doomed.isEmpty
    guard let request = host.doomed.popFirst() ?? host.held.popFirst() ?? host.refused.popFirst() else {
      return nil
    }
    if isDoomed { state.verdicts[request.id] = state.failures[name] }
    state.heldCount -= 1
    state.inFlight += 1
    host.pace.begin()
    return request
  }

  /// - Returns: false if the request was held back.
  private func admit(_ request: DownloadRequest, _ state: inout State) -> Bool {
    let host = host(of: request, &state)
    // Not past those that wait already. The clock is read only where it can matter.
    let isQuiet = host.pace.quietUntil > .zero && elapsed() < host.pace.quietUntil
    if host.held.isEmpty, !isQuiet, host.pace.inUse < host.pace.limit {
      host.pace.begin()
      state.inFlight += 1
      return true
    }
    host.held.append(request)
    state.heldCount += 1
    return false
  }

  private func host(of request: DownloadRequest, _ state: inout State) -> Host {
    let name = request.address.hostAndPort
    if let host = state.hosts[name] { return host }
    let host = Host(HostPace(ceiling: ceiling))
    state.hosts[name] = host
    return host
  }

  // MARK: Ends

  /// Why a request that was given out is not worth asking: its host was given up. To be asked once.
  func verdict(on request: DownloadRequest) -> DownloadError? {
    state.withLock { state in state.verdicts.isEmpty ? nil : state.verdicts.removeValue(forKey: request.id) }
  }

  /// A download ended, well or badly, and does not come again.
  /// - Parameter wasAsked: whether its host had a say.
  func ended(_ request: DownloadRequest, wasAsked: Bool) {
    let name = request.address.hostAndPort
    change { state in
      state.inFlight -= 1
      if !state.refusals.isEmpty { state.refusals[request.id] = nil }
      guard let host = state.hosts[name] else { return }
      if wasAsked { host.pace.end() } else { host.pace.drop() }
      // Memory does not grow with the number of hosts.
      if state.hosts.count > Self.hosts, host.pace.isPristine, !host.isReady(at: .zero) {
        state.hosts[name] = nil
      }
    }
  }

  /// A refused request that comes again: for which time, and how long the host is left alone before.
  struct Return: Equatable {
    var attempt: Int
    var delay: Duration
  }

  /// Takes a request back that its host refused.
  /// - Returns: nil if it is not taken back, because it has been refused too often or the host is given up. Then its
  ///   download has ended.
  func takeBack(_ request: DownloadRequest, after error: DownloadError) -> Return? {
    let name = request.address.hostAndPort
    let (now, random) = (elapsed(), random())
    return change { state in
      guard let host = state.hosts[name] else { return nil }
      state.inFlight -= 1
      let count = state.refusals.removeValue(forKey: request.id).map { $0 + 1 } ?? 1
      // Without retries each is asked once, whatever the others met.
      if retry.retries == 0 {
        host.pace.drop()
        return nil
      }
      let refusal = host.pace.refuse(error, at: now, retry, random: random)
      guard case .again(let time) = refusal else {
        if host.pace.inUse == 0 {
          state.failures[name] = error
          host.doomed += host.held + host.refused
          (host.held, host.refused) = ([], [])
          host.pace.giveUp(retry)
        }
        return nil
      }
      guard count <= max(Self.refusalsOfOneFile, retry.retries) else { return nil }
      state.refusals[request.id] = count
      host.refused.append(request)
      state.heldCount += 1
      return Return(attempt: count + 1, delay: max(.zero, time - now))
    }
  }
}
