import DownloadModel
import Synchronization
import TestSupport
import Testing

@testable import DownloadScheduling

@Suite("What goes first: urgent ones, then by the run's order, then by the list")
struct RequestRankingTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let order: RequestOrder
    /// A size, or nil for unknown; an exclamation mark for urgent.
    let list: [String]
    let expected: [Int]
  }

  static let rows = [
    Row(testDescription: "the list's", order: .list, list: ["3", "1", "2"], expected: [0, 1, 2]),
    Row(testDescription: "urgent ones", order: .list, list: ["3", "1!", "2", "0!"], expected: [1, 3, 0, 2]),
    Row(testDescription: "small", order: .small, list: ["3", "", "1", "2", ""], expected: [2, 3, 0, 1, 4]),
    Row(testDescription: "large", order: .large, list: ["3", "", "0", "9", ""], expected: [3, 0, 2, 1, 4]),
    Row(
      testDescription: "equals as in the list", order: .large, list: ["2", "2", "1", "2"],
      expected: [0, 1, 3, 2]),
    Row(
      testDescription: "urgent ones by size too", order: .small, list: ["1", "9!", "2!", "!"],
      expected: [2, 1, 3, 0]),
  ]

  @Test(arguments: rows) func order(_ row: Row) throws {
    let requests = try row.list.enumerated().map { id, text in
      DownloadRequest(
        id: id, address: try Address("http://a/\(id)"), isFirst: text.last == "!",
        expectedSize: Int64(text.filter { $0 != "!" }))
    }
    let ranking = RequestRanking(order: row.order)
    let sorted = requests.sorted { ranking.rank($0) < ranking.rank($1) }
    #expect(sorted.map(\.id) == row.expected)
    var window = RequestWindow(ranking, isOpen: true)
    for request in requests.reversed() { window.add(request) }
    var taken: [Int] = []
    while let request = window.takeUrgent() ?? window.takeOther() { taken.append(request.id) }
    #expect(taken == row.expected)
  }

  @Test func lots() throws {
    let requests = try (0..<100).map { DownloadRequest(id: $0, address: try Address("http://a/\($0)")) }
    func order(_ seed: UInt64) -> [Int] {
      let ranking = RequestRanking(order: .random, seed: seed)
      return requests.sorted { ranking.rank($0) < ranking.rank($1) }.map(\.id)
    }
    #expect(order(1) == order(1) && order(1) != order(2) && order(1) != Array(0..<100))
    #expect(order(1).sorted() == Array(0..<100))
  }

  @Test(arguments: [(15, false, false), (16, false, true), (99, false, true), (99, true, false)])
  func othersHaveATurn(row: (urgent: Int, isRead: Bool, expected: Bool)) throws {
    var window = RequestWindow(RequestRanking(), isOpen: true)
    let urgent = DownloadRequest(id: 0, address: try Address("http://a/0"), isFirst: true)
    for _ in 0..<row.urgent { window.gave(urgent) }
    if row.isRead { window.reader = .isDone }
    #expect(window.letsOthersGo == row.expected)
  }
}

/// A list that is written while it is read: a pipe.
private final class Pipe: RequestSource {
  private struct State {
    var list: [DownloadRequest] = []
    var taken = 0
    var hasEnded = false
    var waiting = 0
    /// Whether nothing is there at once before it was waited for, as with a list that nobody has begun to
    /// read.
    var isClosed = false
  }
  private let monitor = Monitor(State())

  init(isClosed: Bool = false) { monitor.withState { $0.isClosed = isClosed } }

  func write(_ requests: [DownloadRequest]) { monitor.withState { $0.list += requests } }
  func end() { monitor.withState { $0.hasEnded = true } }
  var taken: Int { monitor.withState { $0.taken } }
  /// Suspends until all that was written is read, and more is waited for.
  func waitUntilDry() async throws {
    try await monitor.wait(for: "a reader") { $0.waiting > 0 && $0.taken == $0.list.count }
  }

  private static func take(_ state: inout State) -> DownloadRequest? {
    guard state.taken < state.list.count, !state.isClosed else { return nil }
    defer { state.taken += 1 }
    return state.list[state.taken]
  }

  nonisolated(nonsending) func next() async -> DownloadRequest? {
    monitor.withState {
      $0.waiting += 1
      $0.isClosed = false
    }
    do { try await monitor.wait(for: "more") { $0.taken < $0.list.count || $0.hasEnded } } catch {
      if !Task.isCancelled { Issue.record(error) }
    }
    // Cancelled, it gives nothing.
    let isCancelled = Task.isCancelled
    return monitor.withState {
      // At once: whoever sees a reader that waits must know that it has passed on what it took before.
      $0.waiting -= 1
      return isCancelled ? nil : Self.take(&$0)
    }
  }

  func takeAtOnce() -> DownloadRequest? { monitor.withState { Self.take(&$0) } }
  var outlook: SourceOutlook {
    monitor.withState { state in
      SourceOutlook(
        goesOn: state.hasEnded,
        hasFirst: state.list.contains { $0.isFirst })
    }
  }
}

@Suite("The run's order, in all modes and over lists that are still being written", .timeLimit(.minutes(hangMinutes)))
struct RequestOrderTests {
  /// The reader has taken a line from the source, and the queue does not know it yet. Once in some hundred runs the
  /// second line of a watched list came first: a lane took it past the reader.
  @Test(arguments: [false, true]) func nothingPassesWhatTheReaderHas(looksAhead: Bool) throws {
    var list = try (0...1).map { try Self.request($0) }[...]
    var state = RequestQueueState(ceiling: 4, widths: [2], retry: RetryPolicy(), looksAhead: looksAhead)
    func step(_ source: RequestQueueState.AtOnce) -> Int? {
      if case .give(let request) = state.step(for: 0, at: .zero, source) { request.id } else { nil }
    }
    #expect(step { nil } == nil)
    #expect(state.window.takeReading(besides: 0) == looksAhead)
    let first = list.popFirst()
    #expect(step { list.popFirst() } == nil)
    state.received(first)
    #expect([step { list.popFirst() }, step { list.popFirst() }] == [0, 1])
  }

  /// Files that are held for their host, that wait in the window, and that are still to be read.
  @Test(arguments: [false, true]) func preferredDuringTheRun(looksAhead: Bool) throws {
    var list = try (0..<8).map { try Self.request($0) }[...]
    var state = RequestQueueState(ceiling: 1, widths: [1], retry: RetryPolicy(), looksAhead: looksAhead)
    var ids: [Int] = []
    func step() -> Int? {
      if case .give(let request) = state.step(for: 0, at: .zero, { list.popFirst() }) {
        ids.append(request.id)
        _ = state.ended(request, share: 0, wasAsked: true, brokenAt: nil, next: nil)
        return request.id
      }
      return nil
    }
    _ = step()
    state.prefer([6, 4, 99])
    while step() != nil {}
    #expect(Set(ids) == Set(0..<8) && ids.first == 0)
    let places = [4, 6].map { id in ids.firstIndex(of: id) ?? .max }
    #expect(places == [1, 2], "\(ids)")
  }

  /// Behind a list that is not read yet; and a run that somebody may add to goes on when its list has ended.
  @Test(arguments: [RequestOrder.list, .large], [false, true])
  func addedOnesStandBehindTheList(order: RequestOrder, looksAhead: Bool) throws {
    var list = try (0...1).map { try Self.request($0) }[...]
    let ranking = RequestRanking(order: order)
    var state = RequestQueueState(
      ceiling: 4, widths: [4], retry: RetryPolicy(), ranking: ranking, looksAhead: looksAhead)
    #expect(!state.isOver)
    state.window.add([try Self.request(1 << 40), try Self.request(1 << 41)], keepers: 1)
    var ids: [Int] = []
    for _ in 0..<9 where ids.count < 4 {
      switch state.step(for: 0, at: .zero, { list.popFirst() }) {
      case .give(let request): ids.append(request.id)
      default: if state.window.takeReading(besides: state.hosts.held) { state.received(list.popFirst()) }
      }
    }
    #expect(ids == [0, 1, 1 << 40, 1 << 41])
    for id in ids { _ = state.ended(try Self.request(id), share: 0, wasAsked: true) }
    state.received(nil)
    #expect(!state.isOver)
    state.window.add([], keepers: -1)
    #expect(state.isOver)
    if case .end = state.step(for: 0, at: .zero, { nil }) {} else { Issue.record("it goes on") }
  }

  private static func request(
    _ id: Int, _ host: String = "a", isFirst: Bool = false, size: Int64? = nil
  ) throws -> DownloadRequest {
    DownloadRequest(
      id: id, address: try Address("http://\(host)/\(id)"), isFirst: isFirst, expectedSize: size)
  }

  private static func queue(
    _ source: any RequestSource, ceiling: Int = 64, widths: [Int] = [1], order: RequestOrder = .list,
    looksAhead: Bool = true
  ) -> RequestQueue {
    RequestQueue(
      source, ceiling: ceiling, widths: widths, retry: RetryPolicy(), clock: ManualClock(), random: { 0.5 },
      order: order, looksAhead: looksAhead)
  }

  /// The order in which one lane has them.
  private static func order(of queue: RequestQueue, _ mode: DownloadMode = .sequential) async -> [Int] {
    let seen = Monitor([Int]())
    await queue.run { shares in
      await mode.strategy.run(shares[0], width: 1) { request in
        seen.withState { $0.append(request.id) }
        shares[0].ended(request, wasAsked: true)
      }
    }
    return seen.withState { $0 }
  }

  @Test(arguments: DownloadMode.allCases) func urgentOnesFirst(_ mode: DownloadMode) async throws {
    let list = try (0..<50).map { try Self.request($0, ["a", "b"][$0 % 2], isFirst: $0 % 10 == 7) }
    let urgent = [7, 17, 27, 37, 47]
    let order = await Self.order(of: Self.queue(RequestList(list)), mode)
    #expect(order == urgent + (0..<50).filter { !urgent.contains($0) })
  }

  @Test(arguments: DownloadMode.allCases) func bySize(_ mode: DownloadMode) async throws {
    let sizes: [Int64?] = [5, nil, 1, 9, nil, 3]
    let list = try sizes.enumerated().map { try Self.request($0.offset, size: $0.element) }
    let small = Self.queue(RequestList(list), order: .small, looksAhead: false)
    #expect(await Self.order(of: small, mode) == [2, 5, 0, 3, 1, 4])
    let large = Self.queue(RequestList(list), order: .large, looksAhead: false)
    #expect(await Self.order(of: large, mode) == [3, 0, 5, 2, 1, 4])
  }

  /// A line's own option, which nobody knew of before the list was read.
  @Test func aLineOfTheListGoesFirst() async throws {
    let pipe = Pipe(isClosed: true)
    pipe.write(try (0..<9).map { try Self.request($0, isFirst: $0 == 8) })
    pipe.end()
    let order = await Self.order(of: Self.queue(pipe, looksAhead: false))
    #expect(order == [8, 0, 1, 2, 3, 4, 5, 6, 7])
  }

  /// A run of many lanes has at most as many others under way as there are lanes when urgent ones come.
  @Test(arguments: [[4], [2, 2]]) func anUrgentOneWaitsForNoOther(widths: [Int]) async throws {
    let pipe = Pipe()
    pipe.write(try (0..<100).map { try Self.request($0) })
    try await Self.queue(pipe, widths: widths).run { shares in
      var taken: [(LoopQueue, DownloadRequest)] = []
      for index in 0..<4 {
        let share = shares[index % shares.count]
        taken.append((share, try #require(await share.next())))
      }
      // Nobody asks for more, and the list is read all the same.
      try await pipe.waitUntilDry()
      pipe.write([try Self.request(100, isFirst: true)])
      try await pipe.waitUntilDry()
      for (share, request) in taken { share.ended(request, wasAsked: true) }
      #expect(await shares[0].next()?.id == 100)
    }
  }

  /// What can be read without waiting decides; a pipe that says nothing for now holds up nothing.
  @Test func anOpenPipeStartsAtOnce() async throws {
    let pipe = Pipe(isClosed: true)
    pipe.write([try Self.request(0, size: 9), try Self.request(1, size: 1)])
    try await Self.queue(pipe, order: .small, looksAhead: false).run { shares in
      for id in [1, 0] {
        let request = try #require(await shares[0].next())
        #expect(request.id == id)
        shares[0].ended(request, wasAsked: true)
      }
    }
  }

  /// A list that never ends is read no further than the window.
  @Test func theWindowIsBounded() async throws {
    let source = try CountingSource(.max)
    await Self.queue(source, order: .random, looksAhead: false).run { shares in
      _ = await shares[0].next()
    }
    #expect(source.drawn <= RequestWindow.limit + 2)
  }

  /// Urgent ones for a busy host keep nobody from another.
  @Test func aBusyHostHoldsUpNoOther() async throws {
    let list = try (0..<20).map { try Self.request($0, $0 < 15 ? "a" : "b", isFirst: $0 < 15) }
    try await Self.queue(RequestList(list), ceiling: 2, widths: [8]).run { shares in
      var ids: [Int] = []
      for _ in 0..<4 { ids.append(try #require(await shares[0].next()).id) }
      #expect(ids == [0, 1, 15, 16])
    }
  }

  /// As long as the list goes on, urgent ones of one host leave a turn to another.
  @Test func noStarvation() async throws {
    let pipe = Pipe()
    pipe.write([try Self.request(0, "b")] + (try (1..<60).map { try Self.request($0, isFirst: true) }))
    let seen = Monitor([Int]())
    try await Self.queue(pipe).run { shares in
      for _ in 0..<40 {
        let request = try #require(await shares[0].next())
        seen.withState { $0.append(request.id) }
        shares[0].ended(request, wasAsked: true)
      }
    }
    let order = seen.withState { $0 }
    #expect(order.firstIndex(of: 0) == RequestWindow.mostInARow)
  }

  /// A host that refuses some asks again for the urgent ones before it is asked for the others.
  @Test func aRefusedUrgentOneStaysUrgent() async throws {
    let list = try (0..<6).map { try Self.request($0, isFirst: $0 == 3) }
    let busy = DownloadError(.status, cause: .http(status: 503), isTransient: true)
    try await Self.queue(RequestList(list), ceiling: 2, widths: [2]).run { shares in
      let urgent = try #require(await shares[0].next())
      #expect(urgent.id == 3)
      let other = try #require(await shares[0].next())
      #expect(shares[0].requeue(urgent, after: busy) != nil)
      shares[0].ended(other, wasAsked: true)
      #expect(await shares[0].next()?.id == 3)
    }
  }
}
