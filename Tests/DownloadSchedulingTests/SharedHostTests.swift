import DownloadModel
import Synchronization
import TestSupport
import Testing

@testable import DownloadScheduling

/// What processes tell one another, here all in one.
private final class Board: Sendable {
  private let notes = Lock<(now: UInt64, words: [Int: SIMD8<UInt64>], booked: [UInt64: UInt64])>((1_000_000, [:], [:]))

  func member(_ index: Int) -> Member { Member(board: self, index: index) }
  func set(_ time: UInt64) { notes.withLock { $0.now = 1_000_000 + time } }
  /// A process was killed.
  func remove(_ index: Int) { notes.withLock { $0.words[index] = nil } }

  struct Member: HostNotes {
    let board: Board
    let index: Int

    var now: UInt64 { board.notes.withLock { $0.now } }
    func number(of host: String) -> UInt64 { 1 }
    func book(_ price: UInt64, of account: UInt64, from earliest: UInt64, within longest: UInt64) -> UInt64? {
      board.notes.withLock { notes in
        let start = max(notes.booked[account, default: 0], earliest)
        notes.booked[account] = start + price
        return start
      }
    }
    var hasCompany: Bool { board.notes.withLock { $0.words.keys.contains { $0 != index } } }
    func tell(_ note: SIMD8<UInt64>) { board.notes.withLock { $0.words[index] = note } }
    func notes(of host: UInt64) -> (all: [SIMD8<UInt64>], own: Int)? {
      board.notes.withLock { notes in
        let order = notes.words.keys.sorted()
        return (order.compactMap { notes.words[$0] }, order.firstIndex(of: index) ?? 0)
      }
    }
  }
}

@Suite("One budget a host for all processes of a user (HTTP rule 37)")
struct SharedHostTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Of each process: in use (with what it is about to begin), wanted beside that, its user's limit, background.
    let notes: [(Int, Int, Int, Bool)]
    var learnt = 0xFFFF
    var second: UInt64 = 0
    /// Its part; negative where all together have too many.
    let parts: [Int]
  }

  static let rows = [
    Row(testDescription: "alone", notes: [(1, 9, 64, false)], parts: [64]),
    Row(testDescription: "two that want much", notes: [(1, 99, 64, false), (1, 99, 64, false)], parts: [32, 32]),
    Row(
      testDescription: "who wants little leaves the rest", notes: [(2, 0, 64, false), (1, 99, 64, false)], learnt: 8,
      parts: [6, 6]),
    Row(
      testDescription: "each user's limit holds for its process",
      notes: [(1, 99, 4, false), (1, 99, 64, false)], learnt: 16, parts: [12, 12]),
    Row(testDescription: "two of four", notes: [(4, 9, 4, false), (1, 9, 4, false)], parts: [-2, -2]),
    Row(
      testDescription: "the odd one goes round", notes: Array(repeating: (0, 9, 64, false), count: 3), learnt: 4,
      parts: [2, 1, 1]),
    Row(
      testDescription: "a second later", notes: Array(repeating: (0, 9, 64, false), count: 3), learnt: 4, second: 1,
      parts: [1, 2, 1]),
    Row(
      testDescription: "more processes than places", notes: Array(repeating: (0, 9, 64, false), count: 3), learnt: 2,
      second: 2, parts: [1, 0, 1]),
    Row(
      testDescription: "in the background, beside one that is not",
      notes: [(1, 9, 1, true), (0, 1, 64, false)], parts: [-1, 64]),
    Row(
      testDescription: "in the background, beside one that needs the host no more",
      notes: [(1, 9, 1, true), (0, 0, 64, false)], parts: [1, 64]),
    Row(testDescription: "two in the background", notes: [(1, 9, 1, true), (0, 9, 1, true)], parts: [1, 0]),
  ]

  @Test(arguments: rows) func parts(row: Row) {
    let all = row.notes.map { inUse, wants, ceiling, isBackground in
      var note = HostUsage(host: 1, ceiling: ceiling, isBackground: isBackground)
      (note.inUse, note.wants, note.countsUntil) = (inUse, wants, .max)
      note.lesson.limit = row.learnt
      return HostUsage(note.words)
    }
    let parts = all.indices.map {
      let share = HostUsage.share(of: $0, among: all, at: row.second * 1000)
      return share.isOver ? -max(1, share.part) : share.part
    }
    #expect(parts == row.parts)
  }

  struct IdleRow: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Of this process, which has four connections to a host of eight.
    var inUse = 0
    /// Of another process: in use, idle, wanted beside that.
    let other: (inUse: Int, idle: Int, wants: Int)
    /// How many connections it may keep.
    let keeps: Int
  }

  static let idleRows = [
    IdleRow(testDescription: "no other process wants them", other: (4, 0, 0), keeps: 4),
    IdleRow(testDescription: "another process wants one", other: (4, 0, 1), keeps: 0),
    IdleRow(testDescription: "its own requests go on", inUse: 2, other: (4, 0, 9), keeps: 2),
    IdleRow(testDescription: "another process has idle ones, too", other: (0, 4, 0), keeps: 4),
  ]

  @Test(arguments: idleRows) func whatMayStayOpen(row: IdleRow) {
    let board = Board()
    var other = HostUsage(host: 1, ceiling: 8, isBackground: false)
    (other.inUse, other.idle, other.wants, other.countsUntil) = (row.other.inUse, row.other.idle, row.other.wants, .max)
    board.member(1).tell(other.words)
    let host = QueuedHost(
      HostLimiter(ceiling: 8), shares: 1, "a",
      sharing: HostSharing(board.member(0), isBackground: false) { _ in [4] })
    for _ in 0..<row.inUse { host.begin(0) }
    host.tellOthers(lanes: 0)
    host.giveUpIdle(at: .zero)
    #expect(min(host.limit, 4) == row.keeps)
  }

  /// The story: two processes whose requests were refused at once both lowered ten to nine, and the host refused one
  /// more of all later requests.
  @Test func refusalsAtOnceAreBothCounted() {
    let board = Board()
    let hosts = (0..<2).map {
      QueuedHost(
        HostLimiter(ceiling: 64), shares: 1, "a", sharing: HostSharing(board.member($0), isBackground: false))
    }
    for host in hosts {
      for _ in 0..<5 { host.begin(0) }
      host.tellOthers(lanes: 0)
    }
    let busy = DownloadError(.status, cause: .http(status: 429), isTransient: true)
    for host in hosts {
      host.end(0)
      _ = host.refuse(busy, at: .zero, RetryPolicy(), random: 0.5)
    }
    for host in hosts { host.tellOthers(lanes: 0) }
    #expect(hosts.map(\.limiter.limit) == [9, 9])
    for host in hosts {
      _ = host.mayBegin(at: .zero, for: 0)
      host.tellOthers(lanes: 0)
    }
    #expect(hosts.map(\.limiter.limit) == [8, 8])
  }

  /// A trial of one request lowered the limit of every other process by one, as if the host had refused it.
  @Test func aRequeuedRequestIsNoRefusalToOthers() {
    let board = Board()
    let hosts = (0..<2).map {
      QueuedHost(
        HostLimiter(ceiling: 64), shares: 1, "a", sharing: HostSharing(board.member($0), isBackground: false))
    }
    func tell(_ remedy: HostNews.Remedy) -> [Int] {
      hosts[0].heard(.unanswered(for: .milliseconds(60), remedy), at: .zero)
      for host in hosts { host.tellOthers(lanes: 0) }
      _ = hosts[1].mayBegin(at: .zero, for: 0)
      return hosts.map(\.limiter.limit)
    }
    #expect(tell(.retry(loop: 0, isIdle: true)) == [64, 64])
    #expect(tell(.limit(to: [3])) == [3, 3])
  }

  /// The story: a process told of its idle connections only once the host's limit was known. So the first refusals
  /// taught ten processes a limit of three, where the host took eight connections.
  @Test func idleConnectionsCountBeforeTheFirstRefusal() {
    let board = Board()
    let hosts = [[5], [5]].enumerated().map { process, open in
      QueuedHost(
        HostLimiter(ceiling: 64), shares: 1, "a",
        sharing: HostSharing(board.member(process), isBackground: false) { _ in open })
    }
    for _ in 0..<5 { hosts[0].begin(0) }
    hosts[0].tellOthers(lanes: 0)
    hosts[1].tellOthers(lanes: 0)
    let busy = DownloadError(.status, cause: .http(status: 429), isTransient: true)
    for _ in 0..<2 {
      hosts[0].end(0)
      _ = hosts[0].refuse(busy, at: .zero, RetryPolicy(), random: 0.5)
    }
    #expect(hosts[0].limiter.limit == 8)
  }

  /// The story: processes that only asked whether they may begin counted as served, so that one refusal was lost.
  @Test func whatIsAnnouncedIsNotServed() {
    let board = Board()
    var other = HostUsage(host: 1, ceiling: 64, isBackground: false)
    (other.inUse, other.announced) = (5, 1)
    board.member(1).tell(other.words)
    let host = QueuedHost(
      HostLimiter(ceiling: 64), shares: 1, "a", sharing: HostSharing(board.member(0), isBackground: false))
    for _ in 0..<5 { host.begin(0) }
    host.tellOthers(lanes: 0)
    host.end(0)
    let busy = DownloadError(.status, cause: .http(status: 429), isTransient: true)
    _ = host.refuse(busy, at: .zero, RetryPolicy(), random: 0.5)
    #expect(host.limiter.limit == 9)
  }

  /// The story: a process had an idle connection on one loop, and another loop opened one more for its only place.
  @Test(arguments: [0, 1]) func anIdleConnectionIsOfItsShare(share: Int) throws {
    let board = Board()
    var other = HostUsage(host: 1, ceiling: 4, isBackground: false)
    other.inUse = 3
    board.member(1).tell(other.words)
    var state = RequestQueueState(
      ceiling: 4, widths: [4, 4], retry: RetryPolicy(),
      sharing: HostSharing(board.member(0), isBackground: false) { _ in [1, 0] })
    var list = [DownloadRequest(id: 0, address: try Address("http://a/f"))][...]
    let step = state.step(for: share, at: .zero) { list.popFirst() }
    if case .give = step { #expect(share == 0) } else { #expect(share == 1) }
  }

  @Test func whatIsToldIsRead() {
    var note = HostUsage(host: 7, ceiling: 64, isBackground: true)
    (note.inUse, note.wants, note.countsUntil, note.hasServed) = (3, 1000, 12345, true)
    (note.version, note.lesson) = (9, HostLimiter.Lesson(limit: 8, servedForMore: 1024, wasRaised: true))
    (note.lesson.isExact, note.cooldownUntil, note.idle) = (true, 1 << 42, 5)
    (note.announced, note.refused, note.counted) = (1, 2, 3)
    #expect(HostUsage(note.words) == note)
    #expect(HostUsage(host: 7, ceiling: 1, isBackground: false).words[1] == 0, "may be overwritten")
  }

  /// Found by reading: the lane of a run in the background that met another process as its file ended was refused the
  /// next one before any time was known, and nobody looked again.
  @Test(.timeLimit(.minutes(hangMinutes))) func aLaneThatIsRefusedAtOnceIsNotForgotten() async throws {
    let (board, clock) = (Board(), ManualClock())
    let list = try (0..<2).map { DownloadRequest(id: $0, address: try Address("http://a/\($0)")) }
    let queue = RequestQueue(
      RequestList(list), ceiling: 1, widths: [2], retry: RetryPolicy(), clock: clock, random: { 0.5 },
      notes: board.member(0), isBackground: true)
    try await queue.run { shares in
      let first = try #require(await shares[0].next())
      async let second = shares[0].next()
      while queue.waits.isEmpty { await Task.yield() }
      var other = HostUsage(host: 1, ceiling: 64, isBackground: false)
      (other.inUse, other.wants, other.countsUntil) = (1, 1, .max)
      board.member(1).tell(other.words)
      shares[0].ended(first, wasAsked: true)
      try await clock.waitForSleepers(1)
      board.remove(1)
      clock.advance(by: .seconds(1))
      let next = await second
      #expect(next?.id == 1)
      if let next { shares[0].ended(next, wasAsked: true) }
    }
  }

  /// How many connections each process has open.
  private final class Open: Sendable {
    private let counts = Lock<[Int: Int]>([:])
    subscript(process: Int) -> Int {
      get { counts.withLock { $0[process] ?? 0 } }
      set { counts.withLock { $0[process] = newValue } }
    }
    var total: Int { counts.withLock { $0.values.reduce(0, +) } }
  }

  /// Processes with a list each towards a host that takes eight connections, idle ones included, answers in 75 ms, and
  /// refuses requests over others. A connection that a process may keep no longer is closed after some milliseconds.
  private struct Trial {
    let board = Board()
    let open = Open()
    private var permits: [Int: (count: Int, from: Int)] = [:]
    private(set) var states: [RequestQueueState]
    private var lists: [ArraySlice<DownloadRequest>]
    private var served: [(process: Int, request: DownloadRequest, end: Int)] = []
    private var refused: [(process: Int, request: DownloadRequest)] = []
    private(set) var refusals: [Int] = []
    private(set) var given: [Int]
    private(set) var most = 0
    private(set) var time = 0
    private static let busy = DownloadError(.status, cause: .http(status: 429), isTransient: true)

    init(
      _ processes: Int, files: Int, ceiling: Int = 64, lowered: [String: Int] = [:],
      isBackground: (Int) -> Bool = { _ in false }
    ) throws {
      let (board, open) = (board, open)
      states = (0..<processes).map {
        RequestQueueState(
          ceiling: ceiling, lowered: lowered, widths: [64], retry: RetryPolicy(),
          adaptive: AdaptiveConcurrency(ceiling: 64),
          sharing: HostSharing(board.member($0), isBackground: isBackground($0)) { [process = $0] _ in [open[process]] }
        )
      }
      let list = try (0..<files).map { DownloadRequest(id: $0, address: try Address("http://a/\($0)")) }
      lists = Array(repeating: list[...], count: processes)
      given = Array(repeating: 0, count: processes)
    }

    private mutating func settle(_ process: Int) {
      let now = Duration.milliseconds(time)
      var list = lists[process]
      while states[process].lanes.count < 64 {
        states[process].lanes.append(WaitingLane(ticket: states[process].lanes.count, share: 0))
      }
      for (_, request) in states[process].settle(at: now, received: { 0 }, { list.popFirst() }) {
        guard let request else { continue }
        given[process] += 1
        let isIdle = open[process] > busy(process)
        if isIdle || open.total < 8 {
          if !isIdle { open[process] += 1 }
          served.append((process, request, time + 75))
        } else {
          refused.append((process, request))
        }
      }
      lists[process] = list
      states[process].tellOthers(at: now)
      for change in states[process].hosts.takeQuotaChanges() {
        permits[process] = (change.quotas?[0] ?? .max, time + 3)
      }
    }

    private func busy(_ process: Int) -> Int { served.count { $0.process == process } }

    private func close() {
      for (process, permit) in permits where permit.from <= time {
        open[process] = min(open[process], max(permit.count, busy(process)))
      }
    }

    /// - Returns: false once nothing is left to do.
    mutating func step() -> Bool {
      time += 1
      board.set(UInt64(time))
      let now = Duration.milliseconds(time)
      let answered = refused
      refused = []
      for (process, request) in answered {
        refusals.append(time)
        _ = states[process].requeue(request, share: 0, after: Self.busy, at: now, random: 0.5)
        settle(process)
      }
      for (process, request, _) in served.filter({ $0.end <= time }) {
        served.removeAll { $0.process == process && $0.request.id == request.id }
        if states[process].ended(request, share: 0, wasAsked: true) {
          states[process].measure(at: now, received: 0, left: nil)
        }
        settle(process)
      }
      close()
      for process in states.indices { settle(process) }
      most = max(most, served.count)
      return !served.isEmpty || states.contains { $0.hosts.held > 0 } || lists.contains { !$0.isEmpty }
    }

    mutating func kill(_ process: Int) {
      board.remove(process)
      open[process] = 0
      served.removeAll { $0.process == process }
      states.remove(at: process)
      lists.remove(at: process)
    }
  }

  @Test(arguments: [1, 3, 10]) func noRefusalAfterTheFirstRound(processes: Int) throws {
    var trial = try Trial(processes, files: 400 / processes)
    while trial.step() {}
    #expect(trial.refusals.allSatisfy { $0 < 75 }, "\(trial.refusals.filter { $0 >= 75 })")
    #expect(trial.most == 8)
    #expect(trial.time < 400 * 75 / 8 * 5 / 4, "\(trial.time) ms")
  }

  @Test func whatAKilledOneHadIsFree() throws {
    var trial = try Trial(2, files: 100)
    while trial.time < 500, trial.step() {}
    trial.kill(1)
    let done = trial.given[0]
    while trial.time < 1000, trial.step() {}
    #expect(trial.given[0] - done >= 40, "of the 53 that one alone has served in this time")
    #expect(trial.refusals.allSatisfy { $0 < 75 })
  }

  /// Of a host that is shared out among many, each has its part, and two of them have two.
  @Test(arguments: [(1, 3), (2, 6)]) func aLoweredCeiling(processes: Int, most: Int) throws {
    var trial = try Trial(processes, files: 40, lowered: ["a": 3])
    while trial.step() {}
    #expect(trial.most == most && trial.refusals.isEmpty)
  }

  @Test func theUsersLimit() throws {
    var trial = try Trial(2, files: 40, ceiling: 4)
    while trial.step() {}
    #expect(trial.most == 4 && trial.refusals.isEmpty)
  }

  @Test func theBackgroundTakesWhatNobodyWants() throws {
    var trial = try Trial(2, files: 40) { $0 == 1 }
    _ = trial.step()
    let before = trial.given[1]
    while trial.given[0] < 40, trial.step() {}
    #expect(trial.given[1] == before)
    while trial.step() {}
    #expect(trial.given[1] >= 40)
  }
}
