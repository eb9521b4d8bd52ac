import DownloadModel
import TestSupport
import Testing

@testable import DownloadScheduling

@Suite("What makes two requests one")
struct RequestKeyTests {
  @Test func whatMakesRequestsEqual() throws {
    let address = try Address("http://a/x")
    let plain = DownloadRequest(id: 0, address: address)
    let digest = ContentDigest(.md5, Array(repeating: 1, count: 16))
    #expect(plain.key == DownloadRequest(id: 1, address: try Address("http://a/x")).key)
    // A login makes no second file.
    #expect(plain.key == DownloadRequest(id: 1, address: try Address("http://u:p@a/x")).key)
    #expect(plain.key != DownloadRequest(id: 1, address: address, wishes: .init(outputName: "y")).key)
    #expect(plain.key != DownloadRequest(id: 1, address: address, wishes: .init(checksum: digest)).key)
  }
}

@Suite("The queue's rules under random schedules: each request once, within the limits, to the end")
struct RequestQueueStateTests {
  /// One to eight loops, one to sixty-four lanes.
  static let widths = [
    [1], [3], [64], [2, 2], [1, 1], [2, 1], [4, 1, 2], [32, 32], Array(repeating: 1, count: 8),
    Array(repeating: 8, count: 8),
  ]

  /// The story: of lanes that waited for a number at a time to be raised, one had the clock, and when it was
  /// raised as many were woken as had room; nobody looked again before a file ended. And of two hosts with
  /// one place each, both places could lie with one loop: its files came one after the other, while the
  /// other loop had nothing to do. Now whenever a file could begin and a lane waits, one begins.
  @Test(arguments: widths, 0..<6)
  func randomSchedule(widths: [Int], seed: UInt64) throws {
    let simulation = try Simulation(widths, seed: seed)
    let complaint = simulation.run()
    #expect(complaint == nil)
  }

  @Test(arguments: widths, 0..<8)
  func randomScheduleInAnyOrder(widths: [Int], seed: UInt64) throws {
    let simulation = try Simulation(widths, seed: seed, isOrdered: true)
    let complaint = simulation.run()
    #expect(complaint == nil)
  }
}

/// A source that has something at once three times in four.
private final class Tap {
  private let list: [DownloadRequest]
  private(set) var drawn = 0
  private var random: SplitMix64

  init(_ list: [DownloadRequest], seed: UInt64) { (self.list, random) = (list, SplitMix64(seed: seed)) }

  func next() -> DownloadRequest? {
    guard drawn < list.count else { return nil }
    defer { drawn += 1 }
    return list[drawn]
  }

  func takeAtOnce() -> DownloadRequest? { Int.random(in: 0..<4, using: &random) > 0 ? next() : nil }
}

/// A run without threads: lanes, a source, hosts that refuse, and time, all of them moved by one random
/// generator. A class, so that no closure copies it.
private final class Simulation {
  private enum Lane {
    case free, ended, reading
    case waiting(ticket: Int)
    case busy(DownloadRequest, failsFast: Bool)
  }

  private enum Move {
    case step(Int), finish(Int), cancel(Int), deliver, time, acquire, release(Int)
  }

  private let widths: [Int]
  private let isOrdered: Bool
  /// Whether a share's lanes are the children of one task, which asks for all of them: a task group.
  private let isGroup: Bool
  private let ceiling: Int
  private let list: [DownloadRequest]
  private var state: RequestQueueState
  private var random: SplitMix64
  private var now = Duration.zero
  private var lanes: [(share: Int, lane: Lane)] = []
  private let tap: Tap
  private var readerIsWanted = false
  /// Further connections.
  private var permits: [(host: String, share: Int)] = []
  private var inUse: [String: [Int]] = [:]
  private var quotas: [String: [Int]?] = [:]
  private var out: Set<Int> = []
  private var done: Set<Int> = []
  /// Those that are to be asked over a connection that a certain share has already, whatever its quota.
  private var reserved: Set<Int> = []
  /// Those that were left unanswered, and may have to wait for a connection.
  private var requeued: Set<Int> = []
  private var lastTicket = 0
  private var moves = 0

  /// - Parameter isOrdered: whether the order may be another than the list's.
  init(_ widths: [Int], seed: UInt64, isOrdered: Bool = false) throws {
    var random = SplitMix64(seed: seed)
    self.isOrdered = isOrdered
    isGroup = Bool.random(using: &random)
    let order = isOrdered ? RequestOrder.allCases.randomElement(using: &random) ?? .list : .list
    let looksAhead = isOrdered && Bool.random(using: &random)
    let (hosts, keys) = (Int.random(in: 1...4, using: &random), Int.random(in: 1...600, using: &random))
    list = try (0..<Int.random(in: 0...400, using: &random)).map {
      let key = Int.random(in: 0..<keys, using: &random)
      return DownloadRequest(
        id: $0, address: try Address("http://h\(key % hosts)/\(key)"), isFirst: isOrdered && key % 5 == 0,
        expectedSize: key % 3 == 0 ? nil : Int64(key))
    }
    tap = Tap(list, seed: seed)
    self.widths = widths
    ceiling = Int.random(in: 1...6, using: &random)
    let adaptive = Bool.random(using: &random) ? AdaptiveConcurrency(ceiling: widths.reduce(0, +)) : nil
    let retry = RetryPolicy(retries: [0, 2, 5].randomElement(using: &random) ?? 5)
    state = RequestQueueState(
      ceiling: ceiling, opening: Int.random(in: 1...8, using: &random), widths: widths, retry: retry,
      adaptive: adaptive,
      ranking: RequestRanking(order: order, seed: seed), looksAhead: looksAhead)
    for (share, width) in widths.enumerated() { lanes += (0..<width).map { _ in (share, .free) } }
    self.random = random
  }

  /// - Returns: what was wrong; nil if nothing was.
  func run() -> String? {
    while true {
      moves += 1
      if moves > 100_000 { return "no end after \(moves) moves" }
      let possible = possibleMoves()
      guard let move = possible.randomElement(using: &random) else { break }
      if let complaint = make(move) { return "\(complaint) (move \(moves))" }
      if let complaint = settle() ?? idlePlace() { return "\(complaint) (move \(moves))" }
    }
    let waiting = lanes.filter { if case .ended = $0.lane { false } else { true } }
    if !waiting.isEmpty { return "\(waiting.count) lanes wait for ever, \(done.count) of \(list.count) done" }
    if done.count != list.count { return "\(list.count - done.count) requests were lost" }
    return nil
  }

  /// What follows each change: lanes that wait are handed what they can have.
  private func settle() -> String? {
    let time = look()
    let handed = state.settle(at: time, received: { [done] in Int64(done.count) }) { [tap] in tap.takeAtOnce()
    }
    takeQuotas()
    for (lane, request) in handed {
      let index = lanes.firstIndex { if case .waiting(lane.ticket) = $0.lane { true } else { false } }
      guard let index else { return "a lane that does not wait is handed something" }
      guard let request else {
        lanes[index].lane = .ended
        continue
      }
      if let complaint = give(request, to: index) { return complaint }
    }
    if let due = state.due(at: time), due <= time { return "the clock would be looked at without a pause" }
    if state.run.isOpening, state.run.isFull, state.run.room == .max, done.isEmpty, isAnyWaiting,
      state.due(at: time) == nil
    {
      return "in time more could begin, and nobody looks again"
    }
    if state.window.takeReading(besides: state.hosts.held) {
      if readerIsWanted { return "the source is read twice at a time" }
      readerIsWanted = true
    }
    return nil
  }

  /// A request that could begin although a lane waits.
  private func idlePlace() -> String? {
    if state.run.isFull || readerIsWanted || !isAnyWaiting { return nil }
    let asking = sharesAsking
    let asks = lanes.contains { lane in
      switch lane.lane {
      case .reading: true
      case .free: !isGroup || !asking[lane.share]
      default: false
      }
    }
    if asks { return nil }
    let resting = Set(state.refused.resting.lazy.filter { [now] in $0.until > now }.map(\.request.id))
    let full = Set(state.hosts.waits(at: now).map(\.host))
    let idle = list.prefix(tap.drawn).first {
      !out.contains($0.id) && !done.contains($0.id) && !full.contains($0.address.hostAndPort)
        && !requeued.contains($0.id) && !resting.contains($0.id)
    }
    return idle.map { "\($0.id) could begin at \($0.address.hostAndPort), and a lane waits" }
  }

  private var isAnyWaiting: Bool {
    lanes.contains { if case .waiting = $0.lane { true } else { false } }
  }

  /// By share, whether a lane of it waits or reads.
  private var sharesAsking: [Bool] {
    var asking = [Bool](repeating: false, count: widths.count)
    for (share, lane) in lanes {
      switch lane {
      case .waiting, .reading: asking[share] = true
      default: break
      }
    }
    return asking
  }

  private func possibleMoves() -> [Move] {
    var moves: [Move] = []
    let asking = sharesAsking
    for (index, lane) in lanes.enumerated() {
      switch lane.lane {
      case .free: if !isGroup || !asking[lane.share] { moves.append(.step(index)) }
      case .busy: moves.append(.finish(index))
      case .reading: moves.append(.deliver)
      case .waiting:
        // Not alone, or a lane that is never handed anything would be found by its cancellation.
        if !moves.isEmpty, index % 3 == 0 { moves.append(.cancel(index)) }
      case .ended: break
      }
    }
    if readerIsWanted { moves.append(.deliver) }
    if state.due(at: now) != nil { moves.append(.time) }
    for index in permits.indices { moves.append(.release(index)) }
    if !moves.isEmpty, permits.count < 3, !out.isEmpty { moves.append(.acquire) }
    return moves
  }

  private func make(_ move: Move) -> String? {
    switch move {
    case .step(let index): return step(index)
    case .finish(let index): return finish(index)
    case .cancel(let index):
      if case .waiting(let ticket) = lanes[index].lane { state.lanes.removeAll { $0.ticket == ticket } }
      lanes[index].lane = .free
    case .deliver:
      readerIsWanted = false
      for index in lanes.indices { if case .reading = lanes[index].lane { lanes[index].lane = .free } }
      let goesOn = Bool.random(using: &random)
      state.received(tap.next(), SourceOutlook(goesOn: goesOn, hasFirst: isOrdered))
      state.window.readAhead(besides: state.hosts.held) { [tap] in tap.takeAtOnce() }
    case .time: now += .milliseconds(Int.random(in: 1...2000, using: &random))
    case .acquire: return acquire()
    case .release(let index):
      let permit = permits.remove(at: index)
      inUse[permit.host]?[permit.share] -= 1
      let isWell = Int.random(in: 0..<4, using: &random) > 0 || moves > 20_000
      state.releasePermit(
        at: permit.host, share: permit.share, after: isWell ? nil : Self.busy, at: now, random: 0.5)
    }
    return nil
  }

  private func look() -> Duration { state.run.isOpening || state.needsTime ? now : .zero }

  private func takeQuotas() {
    for change in state.hosts.takeQuotaChanges() { quotas[change.host] = .some(change.quotas) }
  }

  private func step(_ index: Int) -> String? {
    let share = lanes[index].share
    let time = look()
    let step = state.step(for: share, at: time) { [tap] in tap.takeAtOnce() }
    takeQuotas()
    switch step {
    case .give(let request): return give(request, to: index)
    case .read: lanes[index].lane = .reading
    case .wait:
      lastTicket += 1
      state.lanes.append(WaitingLane(ticket: lastTicket, share: share))
      lanes[index].lane = .waiting(ticket: lastTicket)
    case .end:
      lanes[index].lane = .ended
      if !out.isEmpty || done.count < list.count { return "an end before the end" }
    }
    return nil
  }

  private func give(_ request: DownloadRequest, to index: Int) -> String? {
    let (host, share) = (request.address.hostAndPort, lanes[index].share)
    guard !done.contains(request.id), out.insert(request.id).inserted else {
      return "\(request.id) is given twice"
    }
    if out.count > state.run.room { return "more files than there is room for" }
    var failsFast = false
    if state.refused.advice(on: request).failure != nil { failsFast = true }
    inUse[host, default: Array(repeating: 0, count: widths.count)][share] += 1
    lanes[index].lane = .busy(request, failsFast: failsFast)
    // A reserved one has a connection already, whatever the quota has become.
    if failsFast || reserved.contains(request.id) { return nil }
    return exceeded(host, share)
  }

  /// Called after each begin.
  private func exceeded(_ host: String, _ share: Int) -> String? {
    guard let used = inUse[host] else { return nil }
    let free = needingNoConnection(host)
    if used.reduce(0, +) > ceiling + free { return "more than the ceiling at \(host)" }
    if case .some(.some(let parts)) = quotas[host], used[share] > parts[share] + free {
      return "more than its quota at \(host) for share \(share): \(used), \(parts)"
    }
    return nil
  }

  /// Those that fail fast, and those for which there is a connection.
  private func needingNoConnection(_ host: String) -> Int {
    lanes.count {
      guard case .busy(let request, let failsFast) = $0.lane else { return false }
      return request.address.hostAndPort == host && (failsFast || reserved.contains(request.id))
    }
  }

  private func acquire() -> String? {
    guard let id = out.randomElement(using: &random),
      let lane = lanes.first(where: {
        if case .busy(let request, _) = $0.lane { request.id == id } else { false }
      })
    else { return nil }
    let host = list[id].address.hostAndPort
    guard state.acquirePermit(at: host, share: lane.share, at: now) else { return nil }
    takeQuotas()
    permits.append((host, lane.share))
    inUse[host]?[lane.share] += 1
    return exceeded(host, lane.share)
  }

  private static let busy = DownloadError(.status, cause: .http(status: 503), isTransient: true)
  private static let down = DownloadError(.connect, isTransient: true)

  private func finish(_ index: Int) -> String? {
    guard case .busy(let request, let failsFast) = lanes[index].lane else { return nil }
    let share = lanes[index].share
    if Bool.random(using: &random) { state.hosts.answered(at: request.address.hostAndPort) }
    lanes[index].lane = .free
    out.remove(request.id)
    inUse[request.address.hostAndPort]?[share] -= 1
    if !comesAgain(request, share, failsFast) { done.insert(request.id) }
    return nil
  }

  /// Ends a request in one way or another.
  private func comesAgain(_ request: DownloadRequest, _ share: Int, _ failsFast: Bool) -> Bool {
    let dice = failsFast || moves > 20_000 ? 100 : Int.random(in: 0..<100, using: &random)
    switch dice {
    case 0..<12: return requeue(request, share, Self.busy)
    case 12..<18: return requeue(request, share, Self.down)
    case 18..<26:
      let remedy: HostNews.Remedy
      if Bool.random(using: &random) {
        remedy = .limit(to: widths.map { Int.random(in: 0...$0, using: &random) })
        reserved.remove(request.id)
      } else {
        let loop = Int.random(in: 0..<widths.count, using: &random)
        remedy = .retry(loop: loop, isIdle: Bool.random(using: &random))
        reserved.insert(request.id)
      }
      requeued.insert(request.id)
      let host = request.address.hostAndPort
      state.heard(.unanswered(for: .milliseconds(5), remedy), of: host, about: request.id, at: now)
      return requeue(request, share, DownloadError(.unanswered, isTransient: true, isRequeued: true))
    case 26..<30:
      return requeue(request, share, Self.busy.coalesced)
    case 30..<32:
      let error = DownloadError(.resources, isTransient: true)
      return state.requeue(request, share: share, after: error, at: now, random: 0) != nil
    case 32..<40:
      let file = BackoffEntry(request, TransferMeter())
      let time = now + .milliseconds(Int.random(in: 1...5000, using: &random))
      if Bool.random(using: &random), state.retry(file, share: share, until: nil) { return true }
      return state.retry(file, share: share, until: time)
    default:
      let broke = dice < 44
      if state.ended(request, share: share, wasAsked: !failsFast && dice < 98, brokenAt: broke ? now : nil) {
        state.measure(
          at: now, received: Int64.random(in: 0...1000, using: &random),
          left: Bool.random(using: &random) ? list.count - tap.drawn : nil)
      }
      return false
    }
  }

  private func requeue(_ request: DownloadRequest, _ share: Int, _ error: DownloadError) -> Bool {
    state.requeue(
      request, share: share, after: error, at: now, random: Double.random(in: 0..<1, using: &random)) != nil
  }
}

@Suite("How a host's connections are divided among the loops")
struct QueuedHostTests {
  /// The story: a loop had a further connection of a file beyond its quota, took one place over, and began a file
  /// for which it had none.
  @Test(arguments: 0..<3) func aPlaceThatIsTakenOverIsOne(further: Int) {
    let host = QueuedHost(HostLimiter(ceiling: 9), shares: 3, "h")
    for _ in 0..<(3 + further) { host.begin(1) }
    #expect(!host.hasQuota(1))
    #expect(!host.takeOver(for: 1, isBusy: { $0 != 2 }), "another loop could use it")
    let isTaken = host.takeOver(for: 1, isBusy: { _ in true })
    #expect(isTaken && host.hasQuota(1))
    #expect((0..<3).map { host.quota(of: $0) }.reduce(0, +) == 9)
  }
}

/// The story: a file that its server refused for some seconds, while it served others, was asked for ten times
/// within a tenth of a second and given up.
@Suite("A file that is refused while its host serves others rests between its attempts")
struct RestingTests {
  private static let busy = DownloadError(.status, cause: .http(status: 503), isTransient: true)
  private static let turnedAway = DownloadError(.reset, isTransient: true, wasTurnedAway: true)

  /// A host that serves a file every five milliseconds, but the first one never.
  private struct Host {
    var state = RequestQueueState(ceiling: 64, widths: [64], retry: RetryPolicy())
    var now = Duration.zero
    let refused: DownloadRequest
    /// Those that are under way.
    private(set) var others: ArraySlice<DownloadRequest>

    init() throws {
      let list = try (0..<40).map { DownloadRequest(id: $0, address: try Address("http://a/\($0)")) }
      (refused, others) = (list[0], list[1...])
      for request in list { _ = state.step(for: 0, at: now) { request } }
      state.received(nil)
    }

    /// Refuses the first file.
    /// - Returns: whether it comes again; then it is under way.
    mutating func refuse(_ error: DownloadError, _ random: Double) -> Bool {
      let next = state.requeue(refused, share: 0, after: error, at: now, random: random)
      if next == nil { return false }
      while true {
        now += .milliseconds(5)
        if let other = others.popFirst() { _ = state.ended(other, share: 0, wasAsked: true) }
        if case .give = state.step(for: 0, at: now, { nil }) { return true }
      }
    }
  }

  @Test(arguments: [busy, turnedAway], [0, 0.99])
  func itsAttemptsLast(error: DownloadError, random: Double) throws {
    var host = try Host()
    while host.refuse(error, random) {}
    #expect(host.now >= .seconds(8) && host.now < .seconds(200), "\(host.now)")
  }

  /// The story: 503s between the pieces in which a large file came were counted together, and it was given up.
  @Test(arguments: [(0, 3), (1 << 20, 0)]) func refusalsAreCountedInARow(position: Int64, count: Int) throws {
    var host = try Host()
    for _ in 0..<3 { _ = host.refuse(Self.busy, 0) }
    var attempts = Attempts()
    attempts.add(DownloadError(.reset, isTransient: true), at: position)
    _ = host.state.retry(BackoffEntry(host.refused, TransferMeter(), attempts), share: 0, until: host.now)
    #expect(host.state.refused.advice(on: host.refused).count == count)
  }

  @Test func whoRestsIsTakenOut() throws {
    var host = try Host()
    let comesAgain = host.refuse(Self.busy, 0)
    #expect(comesAgain)
    _ = host.state.requeue(host.refused, share: 0, after: Self.busy, at: host.now, random: 0)
    #expect(host.state.refused.resting.map(\.request.id) == [0])
    let withdrawn = host.state.withdraw([0])
    #expect(withdrawn.map(\.id) == [0] && host.state.refused.resting.isEmpty)
  }
}

@Suite("A run that is to end soon (--grace)")
struct EndingTests {
  /// Its lanes are told that it is over, whether they ask or wait, also in a pause; what is under way ends.
  @Test(arguments: [true, false]) func nothingBegins(isPaused: Bool) throws {
    var state = RequestQueueState(ceiling: 1, widths: [2], retry: RetryPolicy())
    let list = try (0..<3).map { DownloadRequest(id: $0, address: try Address("http://a/\($0)")) }
    var rest = list[...]
    guard case .give = state.step(for: 0, at: .zero, { rest.popFirst() }),
      case .wait = state.step(for: 0, at: .zero, { rest.popFirst() })
    else {
      Issue.record("one goes, and the others wait")
      return
    }
    state.lanes.append(WaitingLane(ticket: 1, share: 0, task: nil))
    (state.run.isPaused, state.run.isEnding) = (isPaused, true)
    let handed = state.settle(at: .zero, received: { 0 }, { rest.popFirst() })
    #expect(handed.count == 1 && handed[0].request == nil)
    _ = state.ended(list[0], share: 0, wasAsked: true)
    guard case .end = state.step(for: 0, at: .zero, { rest.popFirst() }) else {
      Issue.record("there is room, and nothing may begin")
      return
    }
  }
}

@Suite("Which hosts keep requests waiting, for a display")
struct HostWaitTests {
  @Test func aBusyHost() throws {
    var state = RequestQueueState(ceiling: 2, widths: [8], retry: RetryPolicy())
    let list = try (0..<6).map { DownloadRequest(id: $0, address: try Address("http://a/\($0)")) }
    var rest = list[...]
    func take(at now: Duration) -> DownloadRequest? {
      if case .give(let request) = state.step(for: 0, at: now, { rest.popFirst() }) { return request }
      return nil
    }
    #expect(state.hosts.waits(at: .zero).isEmpty)
    #expect(take(at: .zero)?.id == 0 && take(at: .zero)?.id == 1)
    #expect(state.hosts.waits(at: .zero).isEmpty, "nothing waits yet")
    #expect(take(at: .zero) == nil)
    #expect(
      state.hosts.waits(at: .zero)
        == [HostWait(host: "a", limit: 2, isLearnt: false, waiting: 4, pause: nil)], "the user's own limit")
    let busy = DownloadError(
      .status, cause: .http(status: 503), isTransient: true, retryAfter: .seconds(6))
    for id in 0..<2 { _ = state.requeue(list[id], share: 0, after: busy, at: .seconds(1), random: 0) }
    let waits = state.hosts.waits(at: .seconds(3))
    #expect(waits == [HostWait(host: "a", limit: 1, isLearnt: true, waiting: 6, pause: .seconds(4))])
    #expect(state.hosts.waits(at: .seconds(7)).isEmpty, "it can be asked again")
    // As it says itself, without a refusal; a pause that a Retry-After would not get is left to its refusals.
    state.heard(.answered((left: 0, time: .seconds(5))), of: "a", about: nil, at: .seconds(7))
    let spent = state.hosts.waits(at: .seconds(9))
    #expect(spent.first?.isSpent == true && spent.first?.pause == .seconds(3))
    #expect(state.hosts.nextCooldownEnd(after: .seconds(9)) == .seconds(12))
    #expect(take(at: .seconds(11)) == nil && take(at: .seconds(12)) != nil)
    state.heard(.answered((left: 0, time: .seconds(3600))), of: "a", about: nil, at: .seconds(12))
    #expect(state.hosts.all.first?.limiter.opensAt == .seconds(12))
  }
}

/// The story: of ten files that were each refused once, all failed, since six refusals in a row give a host up
/// and what was never asked went first.
@Suite("A host that refuses each request the first time it is asked")
struct RefusedOnceTests {
  @Test(arguments: [1, 2, 8], [1, 2, 8, 64]) func allComeInTheEnd(width: Int, ceiling: Int) throws {
    var state = RequestQueueState(ceiling: ceiling, widths: [width], retry: RetryPolicy(retries: 5))
    let list = try (0..<40).map { DownloadRequest(id: $0, address: try Address("http://a/\($0)")) }
    let busy = DownloadError(
      .status, cause: .http(status: 503), isTransient: true, retryAfter: .seconds(1))
    var (rest, asked, done): (_, Set<Int>, Set<Int>) = (list[...], [], [])
    var (now, running): (Duration, [DownloadRequest]) = (.zero, [])
    rounds: for _ in 0..<1000 {
      lanes: while running.count < width {
        switch state.step(for: 0, at: now, { rest.popFirst() }) {
        case .give(let request):
          if state.refused.advice(on: request).failure != nil {
            Issue.record("\(request.id) fails without being asked")
            break rounds
          }
          running.append(request)
        case .end where running.isEmpty: break rounds
        case .wait:
          state.lanes.append(WaitingLane(ticket: 1, share: 0))
          if running.isEmpty { now = max(now, state.due(at: now) ?? now) }
          state.lanes.removeAll { $0.ticket == 1 }
          break lanes
        case .read: state.received(nil, SourceOutlook(goesOn: true, hasFirst: false))
        case .end: break lanes
        }
      }
      for request in running {
        if asked.insert(request.id).inserted {
          let next = state.requeue(request, share: 0, after: busy, at: now, random: 0.5)
          #expect(next != nil, "\(request.id) is given up")
        } else {
          _ = state.ended(request, share: 0, wasAsked: true)
          done.insert(request.id)
        }
      }
      running = []
    }
    #expect(done.count == list.count)
  }
}
