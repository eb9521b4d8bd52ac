import DownloadModel
import Synchronization
import TestSupport
import Testing

@testable import DownloadScheduling

@Suite("Requests go out as their hosts take them", .timeLimit(.minutes(hangMinutes)))
struct RequestQueueTests {
  private static let busy = DownloadError(.status, cause: .http(status: 503), isTransient: true)

  private static func requests(_ hosts: String...) throws -> RequestList {
    RequestList(
      try hosts.enumerated().map {
        DownloadRequest(id: $0.offset, address: try Address("http://\($0.element)/\($0.offset)"))
      })
  }

  private static func queue(
    _ source: any RequestSource, ceiling: Int = 16, retries: Int = 5, clock: ManualClock = ManualClock()
  ) -> RequestQueue {
    RequestQueue(
      source, ceiling: ceiling, retry: RetryPolicy(retries: retries), clock: clock, random: { 0.5 })
  }

  @Test func anotherHostGoesFirstWhenOneIsFull() async throws {
    try await Self.queue(try Self.requests("a", "a", "a", "b", "a", "b"), ceiling: 2).run { shares in
      let queue = shares[0]
      var ids: [Int] = []
      for _ in 0..<4 { ids.append(try #require(await queue.next()).id) }
      #expect(ids == [0, 1, 3, 5])
      queue.ended(DownloadRequest(id: 1, address: try Address("http://a/1")), wasAsked: true)
      #expect(await queue.next()?.id == 2, "in the list's order")
    }
  }

  /// At most so many in a time, however many lanes are free; other hosts go on meanwhile.
  @Test func requestsOfAHostAreSpread() async throws {
    let clock = ManualClock()
    var rates = RequestRates()
    rates.hosts["a"] = .seconds(2)
    let queue = RequestQueue(
      try Self.requests("a", "a", "b", "a", "b"), ceiling: 16, retry: RetryPolicy(), clock: clock, random: { 0.5 },
      rates: rates)
    try await queue.run { shares in
      let queue = shares[0]
      var ids: [Int] = []
      for _ in 0..<3 { ids.append(try #require(await queue.next()).id) }
      #expect(ids == [0, 2, 4])
      for id in [1, 3] {
        async let next = queue.next()
        try await clock.waitForSleepers(1)
        clock.advance(by: .seconds(2))
        #expect(try #require(await next).id == id)
      }
    }
  }

  @Test func aLaneWaitsForAPlace() async throws {
    try await Self.queue(try Self.requests("a", "a"), ceiling: 1).run { shares in
      let queue = shares[0]
      let first = try #require(await queue.next())
      async let second = queue.next()
      queue.ended(first, wasAsked: true)
      let next = try #require(await second)
      #expect(next.id == 1)
      // What is under way may come back, so the end is known only when it has ended.
      async let end = queue.next()
      queue.ended(next, wasAsked: true)
      #expect(await end == nil)
    }
  }

  /// A list that comes through a slow pipe holds up nobody who is ready.
  @Test(.timeLimit(.minutes(hangMinutes))) func aRefusedRequestDoesNotWaitForTheList() async throws {
    let clock = ManualClock()
    let source = SlowSource(try Self.requests("a", "a"))
    try await Self.queue(source, clock: clock).run { shares in
      let queue = shares[0]
      let first = try #require(await queue.next())
      async let next = queue.next()
      try await source.waitUntilAsked(2)
      #expect(queue.requeue(first, after: Self.busy) != nil)
      try await clock.waitForSleepers(1)
      clock.advance(by: .seconds(60))
      let again = try #require(await next)
      #expect(again.id == 0)
      queue.ended(again, wasAsked: true)
      source.open()
      #expect(await queue.next()?.id == 1)
    }
  }

  /// The list is an open pipe, and the only lane is busy with a file that came back: nobody is left who waits
  /// for the list but the reader, and the run's cancellation must reach it. It was once a task of nobody's.
  @Test(.timeLimit(.minutes(hangMinutes))) func cancellationReachesTheReader() async throws {
    let clock = ManualClock()
    let source = SlowSource(try Self.requests("a"))
    let queue = Self.queue(source, clock: clock)
    let busy = Recorder(holds: true)
    let run = Task {
      await queue.run { shares in
        guard let refused = await shares[0].next(), shares[0].requeue(refused, after: Self.busy) != nil,
          let again = await shares[0].next()
        else { return }
        await busy.download(again)
      }
    }
    try await source.waitUntilAsked(2)
    try await clock.waitForSleepers(1)
    clock.advance(by: .seconds(60))
    await busy.wait(forStarted: 1)
    run.cancel()
    busy.open()
    await run.value
    #expect(source.wasCancelled)
  }

  /// With the list, or with the lanes if they end before it.
  @Test(.timeLimit(.minutes(hangMinutes)), arguments: [true, false])
  func theReaderEnds(withTheList: Bool) async throws {
    let source = SlowSource(try Self.requests("a", "a"))
    if withTheList { source.open() }
    let clock = ManualClock()
    try await Self.queue(source, clock: clock).run { shares in
      let first = try #require(await shares[0].next())
      async let second = shares[0].next()
      try await source.waitUntilAsked(2)
      guard withTheList else {
        // The list stays open: the reader waits for it while this lane goes on with what came back.
        #expect(shares[0].requeue(first, after: Self.busy) != nil)
        try await clock.waitForSleepers(1)
        clock.advance(by: .seconds(60))
        #expect(await second?.id == 0)
        return
      }
      shares[0].ended(first, wasAsked: true)
      shares[0].ended(try #require(await second), wasAsked: true)
      #expect(await shares[0].next() == nil)
    }
    #expect(source.wasCancelled == !withTheList)
  }

  /// What the lanes throw ends the run, also while the reader waits.
  @Test(.timeLimit(.minutes(hangMinutes))) func aFailureOfTheLanes() async throws {
    struct Failure: Error {}
    let source = SlowSource(try Self.requests("a", "a"))
    await #expect(throws: Failure.self) {
      try await Self.queue(source).run { shares in
        _ = await shares[0].next()
        let waiting = Task { await shares[0].next() }
        try await source.waitUntilAsked(2)
        waiting.cancel()
        #expect(await waiting.value == nil)
        throw Failure()
      }
    }
  }

  @Test func cancellationEndsTheWait() async throws {
    await Self.queue(try Self.requests("a", "a"), ceiling: 1).run { shares in
      let queue = shares[0]
      _ = await queue.next()
      let waiting = Task { await queue.next() }
      waiting.cancel()
      #expect(await waiting.value == nil)
    }
  }

  /// Its nil is not the end of the list.
  @Test(.timeLimit(.minutes(hangMinutes))) func aLaneIsCancelledWhileItReads() async throws {
    let source = SlowSource(try Self.requests("a", "a"))
    try await Self.queue(source).run { shares in
      shares[0].ended(try #require(await shares[0].next()), wasAsked: true)
      let lane = Task { await shares[0].next() }
      try await source.waitUntilAsked(2)
      lane.cancel()
      #expect(await lane.value == nil)
      source.open()
      #expect(await shares[0].next()?.id == 1)
    }
  }

  /// So no strategy can forget to look.
  @Test func aCancelledTaskIsGivenNothing() async throws {
    await Self.queue(try Self.requests("a", "a")).run { shares in
      let lane = Task {
        while !Task.isCancelled { await Task.yield() }
        return await shares[0].next()
      }
      lane.cancel()
      #expect(await lane.value == nil)
      #expect(await shares[0].next()?.id == 0, "and nothing is lost by it")
    }
  }

  private static let noRoom = DownloadError(.resources, isTransient: true)

  /// Too many files are open: from then on no more go at a time than did without the one that came back.
  @Test func fewerWhereThereIsNoRoom() async throws {
    try await Self.queue(try Self.requests("a", "b", "c", "d")).run { shares in
      let queue = shares[0]
      let first = try #require(await queue.next())
      let (second, third) = (try #require(await queue.next()), try #require(await queue.next()))
      #expect(queue.requeue(third, after: Self.noRoom) == .init(attempt: 2, retry: 1, of: nil, delay: .zero))
      #expect(queue.requeue(second, after: Self.noRoom) == .init(attempt: 2, retry: 1, of: nil, delay: .zero))
      async let next = queue.next()
      queue.ended(first, wasAsked: true)
      let again = try #require(await next)
      #expect(queue.queue.change { $0.run.room } == 1)
      async let last = queue.next()
      queue.ended(again, wasAsked: true)
      #expect(await last != nil)
      #expect(queue.queue.width.peak == 3)
    }
  }

  /// Alone it waits, as often as failures are tried again, for what is given back meanwhile.
  @Test func aloneWithoutRoom() async throws {
    let clock = ManualClock()
    try await Self.queue(try Self.requests("a"), retries: 1, clock: clock).run { shares in
      let queue = shares[0]
      let only = try #require(await queue.next())
      #expect(queue.requeue(only, after: Self.noRoom) == .init(attempt: 2, retry: 1, of: 1, delay: .seconds(2.2)))
      async let next = queue.next()
      try await clock.waitForSleepers(1)
      clock.advance(by: .seconds(3))
      #expect(queue.requeue(try #require(await next), after: Self.noRoom) == nil)
      #expect(await queue.next() == nil)
    }
  }

  /// One file that is always refused holds up no other, and ends as its own failure.
  @Test func aFileThatAloneIsRefused() async throws {
    let clock = ManualClock()
    try await Self.queue(try Self.requests("a", "a", "a"), clock: clock).run { shares in
      let queue = shares[0]
      let bad = try #require(await queue.next())
      #expect(
        queue.requeue(bad, after: Self.busy) == .init(attempt: 2, retry: 1, of: 5, delay: .seconds(1.5)))
      async let others = [queue.next(), queue.next()]
      try await clock.waitForSleepers(1)
      clock.advance(by: .seconds(2))
      #expect(await others.map { $0?.id } == [1, 2], "those that were never asked go first")
      #expect(await queue.next()?.id == 0)
    }
  }

  /// Different files were refused and nobody was served: the others are not asked in vain.
  @Test func aHostIsGivenUp() async throws {
    let clock = ManualClock()
    try await Self.queue(try Self.requests("a", "a", "a", "a", "a"), ceiling: 1, retries: 2, clock: clock).run {
      shares in
      let queue = shares[0]
      for round in 0..<3 {
        async let next = queue.next()
        if round > 0 {
          try await clock.waitForSleepers(1)
          clock.advance(by: .seconds(60))
        }
        let request = try #require(await next)
        #expect(request.id == [0, 1, 0][round], "another file, and then the first again")
        #expect((queue.requeue(request, after: Self.busy) == nil) == (round == 2))
      }
      var failed: [Int] = []
      while let request = await queue.next() {
        guard queue.advice(on: request).failure == Self.busy else {
          Issue.record("\(request.id) was not given up")
          break
        }
        failed.append(request.id)
        queue.ended(request, wasAsked: false)
      }
      #expect(failed == [2, 3, 4, 1])
    }
  }

  /// Two at a time a server, three servers, thirty files in the servers' order: no failed file, no idle
  /// server, and no server asked for more than once beyond what it takes. Time is the test's.
  @Test(arguments: [DownloadMode.asyncLet, .parallel], [16, 6])
  func threeServersOfTwo(mode: DownloadMode, width: Int) async throws {
    let hosts = ["a", "b", "c"]
    let servers = Servers(capacity: 2)
    let list = try (0..<30).map {
      DownloadRequest(id: $0, address: try Address("http://\(hosts[$0 / 10])/\($0)"))
    }
    try await Self.queue(RequestList(list)).run { shares in
      let queue = shares[0]
      let failed = Lock<[Int]>([])
      let running = Task {
        await mode.strategy.run(queue, width: width) { request in
          if queue.advice(on: request).failure != nil {
            failed.withLock { $0.append(request.id) }
            queue.ended(request, wasAsked: false)
            return
          }
          if await servers.serve(request) {
            queue.ended(request, wasAsked: true)
          } else if queue.requeue(request, after: Self.busy) == nil {
            failed.withLock { $0.append(request.id) }
          }
        }
      }
      var turns = 0
      while servers.served < 30 {
        // Everybody who can be served is: each server that still has files is at its two.
        try await servers.waitUntilBusy()
        servers.finishOne()
        turns += 1
      }
      await running.value
      #expect(failed.withLock { $0 } == [])
      #expect(turns == 30)
      #expect(servers.refused < 60, "\(servers.refused) refusals")
    }
  }
}

/// Servers that serve so many at a time, and refuse the rest at once.
private final class Servers: Sendable {
  private struct State {
    var serving: [String: [Int]] = [:]
    var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    var served: [String: Int] = [:]
    var refused = 0
  }
  private let capacity: Int
  private let monitor = Monitor(State())

  init(capacity: Int) { self.capacity = capacity }

  var served: Int { monitor.withState { $0.served.values.reduce(0, +) } }
  var refused: Int { monitor.withState { $0.refused } }

  /// - Returns: false if the server is full.
  func serve(_ request: DownloadRequest) async -> Bool {
    let host = request.address.host
    let isFull = monitor.withState { state in
      if state.serving[host, default: []].count >= capacity {
        state.refused += 1
        return true
      }
      state.serving[host, default: []].append(request.id)
      return false
    }
    if isFull { return false }
    await withCheckedContinuation { continuation in
      monitor.withState { $0.waiting[request.id] = continuation }
    }
    return true
  }

  /// Until no server could serve one more of its ten files.
  func waitUntilBusy() async throws {
    let capacity = capacity
    try await monitor.wait(for: "every server to be at its limit") { state in
      ["a", "b", "c"].allSatisfy { host in
        let left = 10 - state.served[host, default: 0]
        let serving = state.serving[host, default: []]
        return serving.count == min(capacity, left) && serving.allSatisfy { state.waiting[$0] != nil }
      }
    }
  }

  /// Ends one file of the server that has served least.
  func finishOne() {
    let done = monitor.withState { state -> CheckedContinuation<Void, Never>? in
      let busy = state.serving.filter { !$0.value.isEmpty }
      guard let host = busy.keys.min(by: { state.served[$0, default: 0] < state.served[$1, default: 0] }),
        let id = state.serving[host]?.removeFirst()
      else { return nil }
      state.served[host, default: 0] += 1
      return state.waiting.removeValue(forKey: id)
    }
    done?.resume()
  }
}

/// Gives its first request at once, and the others when it is opened.
private final class SlowSource: RequestSource {
  private struct State {
    var asked = 0
    var isOpen = false
    var wasCancelled = false
  }
  private let list: RequestList
  private let monitor = Monitor(State())

  init(_ list: RequestList) { self.list = list }

  nonisolated(nonsending) func next() async -> DownloadRequest? {
    let asked = monitor.withState { state in
      state.asked += 1
      return state.asked
    }
    if asked > 1 {
      do {
        try await monitor.wait(for: "the source to be opened") { $0.isOpen }
      } catch {
        monitor.withState { $0.wasCancelled = true }
        return nil
      }
    }
    return await list.next()
  }

  func waitUntilAsked(_ count: Int) async throws {
    try await monitor.wait(for: "\(count) questions") { $0.asked >= count }
  }

  func open() { monitor.withState { $0.isOpen = true } }
  var wasCancelled: Bool { monitor.withState { $0.wasCancelled } }
}
