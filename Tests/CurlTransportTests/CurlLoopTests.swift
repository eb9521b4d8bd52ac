import DownloadModel
import TestSupport
import Testing

@testable import CurlTransport

@Suite("How CurlLoop shares its thread and its connections out")
struct CurlLoopTests {
  private actor OnLoop {
    private let loop: CurlLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private(set) var jobs: [UInt64: Int] = [:]

    init(_ loop: CurlLoop) { self.loop = loop }

    private func run() { jobs[loop.turns, default: 0] += 1 }

    /// Makes so many jobs in one, which all come to this actor.
    func runMany(_ count: Int) async {
      let tasks = (0..<count).map { _ in Task { run() } }
      for task in tasks { await task.value }
    }

    func idleConnections(to host: String) -> [Int32] { loop.poll.idleConnections(to: host) }
    func end(_ socket: Int32) { loop.end(idleConnection: socket) }
  }

  /// Sockets get their turn between them.
  @Test func aTurnRunsSoManyJobsAtMost() async throws {
    try await withAgent { loop, _, _ in
      let actor = OnLoop(loop)
      await actor.runMany(2000)
      let jobs = await actor.jobs
      #expect(jobs.values.reduce(0, +) == 2000)
      let most = jobs.values.max() ?? 0
      #expect(most <= 512 && most >= 400, "\(most)")
    }
  }

  @Test func heldItNeitherSendsNorReads() async throws {
    try await withAgent { loop, agent, origin in
      origin.route("/f", .file([1, 2, 3]))
      loop.inbox.hold(true)
      let request = TransferRequest(address: try origin.address("/f"))
      let task = Task { try await agent.run(request, into: CollectingSink(), nil, isolation: agent) }
      try await Task.sleep(for: .milliseconds(50))
      #expect(origin.log.isEmpty)
      // What it does for its actors goes on.
      #expect(await agent.connectionCount <= 1)
      loop.inbox.hold(false)
      guard case .ended(let receipt) = try await task.value else { throw SupportFailure("it has ended") }
      #expect(receipt.bodyBytes == 3)
    }
  }

  @Test func endsAnIdleConnection() async throws {
    try await withAgent { loop, agent, origin in
      origin.route("/f", .file([1, 2, 3]))
      let (actor, request) = (OnLoop(loop), TransferRequest(address: try origin.address("/f")))
      let host = request.address.hostAndPort
      for connection in 1...2 {
        for _ in 0..<2 { _ = try await agent.run(request, into: CollectingSink(), nil, isolation: agent) }
        #expect(await agent.connectionCount == 1)
        #expect(Set(origin.log.map(\.connection)).count == connection)
        let idle = await actor.idleConnections(to: host)
        #expect(idle.count == 1)
        #expect(await actor.idleConnections(to: "elsewhere:1").isEmpty)
        for socket in idle { await actor.end(socket) }
        #expect(await agent.connectionCount == 0)
        #expect(await actor.idleConnections(to: host).isEmpty)
        try await origin.wait(for: "its end") { $0.connectionsOpen == 0 }
      }
    }
  }

  // MARK: When it wakes by itself

  private static let second: UInt64 = 1_000_000_000

  /// The first time counts, and is rounded up, so that a wait ends at it and not before it.
  @Test func wakesForWhatIsFirst() {
    var timers = LoopTimers(StallWatch(.seconds(8)))
    #expect(timers.wait(at: 5) == -1)
    timers.lookForStalls(true, at: 0)
    #expect(timers.wait(at: 0) == 1000)
    timers.look(at: 500_000_001)
    timers.look(at: 600_000_000)
    #expect(timers.wait(at: 0) == 501)
    timers.watchUnanswered(true, at: 0)
    #expect(timers.wait(at: 0) == 10)
    timers.curl = 3_000_000
    #expect(timers.wait(at: 0) == 3 && timers.wait(at: 3_000_000) == 0 && timers.wait(at: Self.second) == 0)
  }

  @Test func looksForStalls() {
    var timers = LoopTimers(StallWatch(.seconds(8)))
    let looks = { (timers: inout LoopTimers, times: [UInt64]) in times.map { timers.takeLook(at: $0) } }
    #expect(looks(&timers, [0, 9 * Self.second]) == [nil, nil], "there is no transfer")
    timers.lookForStalls(true, at: 10)
    timers.lookForStalls(true, at: 20)
    #expect(looks(&timers, [10 + Self.second - 1, 10 + Self.second]) == [nil, Self.second])
    // A loop that was held up may have bytes waiting.
    #expect(looks(&timers, [60 * Self.second]) == [2 * Self.second])
    timers.lookForStalls(false, at: 60 * Self.second)
    #expect(looks(&timers, [90 * Self.second]) == [nil])
    #expect(timers.wait(at: 0) == -1)
  }

  @Test func watchesUnansweredRequests() {
    var timers = LoopTimers(StallWatch(.seconds(8)))
    let interval = LoopTimers.watchInterval
    let watches = { (timers: inout LoopTimers, times: [UInt64]) in times.map { timers.takeWatch(at: $0) } }
    timers.watchUnanswered(true, at: 0)
    timers.watchUnanswered(true, at: 5)
    #expect(watches(&timers, [interval - 1, interval, 2 * interval]) == [nil, interval, interval])
    #expect(watches(&timers, [90 * interval]) == [2 * interval], "held up")
    timers.watchUnanswered(false, at: 0)
    #expect(watches(&timers, [200 * interval]) == [nil])
  }

  @Test func deadlinesComeOnce() {
    var timers = LoopTimers(StallWatch(.seconds(8)))
    let come = { (timers: inout LoopTimers, times: [UInt64]) in times.map { timers.takeDeadline(at: $0) } }
    #expect(come(&timers, [.max]) == [false])
    for time in [70, 50, 60] as [UInt64] { timers.look(at: time) }
    #expect(come(&timers, [49, 50, 51]) == [false, true, false])
  }

  /// Time in which all transfers were held counts for none of the waits.
  @Test func heldTimeDoesNotCount() {
    var timers = LoopTimers(StallWatch(.seconds(8)))
    timers.lookForStalls(true, at: 0)
    timers.look(at: 100)
    timers.watchUnanswered(true, at: 0)
    timers.wereHeld(for: 5 * Self.second, until: 6 * Self.second)
    let (early, due) = (timers.takeLook(at: 7 * Self.second - 1), timers.takeLook(at: 7 * Self.second))
    #expect(early == nil && due == Self.second)
    let isOver = [timers.takeDeadline(at: 5 * Self.second), timers.takeDeadline(at: 5 * Self.second + 100)]
    #expect(isOver == [false, true])
    let watch = 5 * Self.second + LoopTimers.watchInterval
    let watched = [timers.takeWatch(at: watch - 1), timers.takeWatch(at: watch)]
    #expect(watched == [nil, LoopTimers.watchInterval])
  }
}
