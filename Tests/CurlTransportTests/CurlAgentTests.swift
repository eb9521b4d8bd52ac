import CCurl
import DownloadModel
import Glibc
import TestSupport
import Testing

@testable import CurlTransport

/// Runs a test body with a loop and its agent, without the transport around them, and ends both.
func withAgent(
  _ change: (inout TransportOptions) -> Void = { _ in },
  _ body: (CurlLoop, CurlAgent, FaultyOrigin) async throws -> Void
) async throws {
  var options = TransportOptions(userAgent: "dlm-test")
  options.connectTimeout = .seconds(120)
  change(&options)
  let origin = try FaultyOrigin()
  defer { origin.stop() }
  let loop = try CurlLoop(StallWatch(.seconds(600)))
  let agent = try CurlAgent(loop, options)
  try loop.start(agent, LoopTaskExecutor(loop), keepingConnections: 16)
  let result: Result<Void, any Error>
  do { result = .success(try await body(loop, agent, origin)) } catch { result = .failure(error) }
  await agent.close()
  await loop.inbox.stop()
  try result.get()
}

@Suite("What the agent of a loop decides about its transfers")
struct CurlAgentTests {
  private static let body = SplitMix64.bytes(count: 5000, seed: 21)

  /// Begins a transfer, and gives how it ends: its status, or the code of its failure.
  private static func begin(
    _ agent: CurlAgent, _ address: Address, meter: TransferMeter? = nil, into sink: CollectingSink = .init()
  ) -> Task<String, Never> {
    Task {
      do throws(DownloadError) {
        let stage = try await agent.run(
          TransferRequest(address: address, meter: meter), into: sink, nil, isolation: agent)
        guard case .ended(let receipt) = stage else { return "under way" }
        return "\(receipt.status)"
      } catch {
        return error.code.rawValue
      }
    }
  }

  @Test func cancelsWhatIsNamedAlone() async throws {
    try await withAgent { loop, agent, origin in
      origin.route("/f", .silence())
      let (address, mine, other) = (try origin.address("/f"), TransferMeter(), TransferMeter())
      let (first, second) = (Self.begin(agent, address, meter: mine), Self.begin(agent, address, meter: other))
      try await origin.wait(for: "two requests") { $0.inFlight == 2 }
      await agent.cancel([Cancellation(id: TransferID(number: 99), reason: .order)])
      #expect(await agent.details(of: mine).count == 1)
      mine.stop(as: .skipped)
      await agent.cancel(mine)
      #expect(await first.value == "cancelled")
      #expect(await Self.begin(agent, address, meter: mine).value == "cancelled", "none of it starts any more")
      #expect(await agent.details(of: mine).isEmpty)
      #expect(await agent.details(of: other).count == 1)
      await agent.failAll("broken")
      #expect(await second.value == "transport")
    }
  }

  @Test func refusesAfterItsEnd() async throws {
    try await withAgent { loop, agent, origin in
      origin.route("/f", .silence())
      let address = try origin.address("/f")
      let running = Self.begin(agent, address)
      try await origin.wait(for: "the request") { $0.inFlight == 1 }
      await agent.close()
      #expect(await running.value == "cancelled")
      #expect(await Self.begin(agent, address).value == "cancelled")
      #expect(origin.log.count == 1)
    }
  }

  /// Silence counts from the first look on, and once the connection is up.
  @Test func endsWhatHasStalled() async throws {
    try await withAgent { loop, agent, origin in
      origin.route("/f", .silence())
      #expect(await agent.endStalled(StallWatch(.seconds(1)), after: 2_000_000_000) == false, "there is none")
      let running = Self.begin(agent, try origin.address("/f"))
      try await origin.wait(for: "the request") { $0.inFlight == 1 }
      // So long that the looks of the loop itself in between do not matter.
      var looks: [Bool] = []
      for seconds in [0, 3000, 3000] as [UInt64] {
        looks.append(await agent.endStalled(StallWatch(.seconds(5000)), after: seconds * 1_000_000_000))
      }
      #expect(looks == [true, true, false])
      #expect(await running.value == "stalled")
    }
  }

  /// The answer is known, and the rest of its body is waited for until a deadline only.
  @Test func endsWhatIsDrained() async throws {
    try await withAgent { loop, agent, origin in
      let gate = try Gate()
      origin.route("/f", .file(Self.body, FileOptions(ending: .stall(after: 10, until: gate))))
      // Held, the loop itself ends no transfer.
      let sink = CollectingSink { _ throws(DownloadError) in
        loop.inbox.hold(true)
        return .drain
      }
      let running = Self.begin(agent, try origin.address("/f"), into: sink)
      var deadline: UInt64?
      while deadline == nil {
        deadline = await agent.meetDeadlines(at: 0)
        await Task.yield()
      }
      let time = try #require(deadline)
      #expect(await agent.meetDeadlines(at: time - 1) == time)
      #expect(await agent.meetDeadlines(at: time) == nil)
      #expect(await running.value == "200")
      #expect(sink.bytes.isEmpty)
      gate.open()
    }
  }

  /// Connections of a host beyond what it may have are closed once they are idle, and only then.
  /// - Parameter isAtOnce: whether libcurl finishes all transfers before the loop delivers the first.
  @Test(arguments: [false, true])
  func keepsAsManyConnectionsAsItMay(isAtOnce: Bool) async throws {
    // With a limit no request is given back because others were answered first (HTTP rule 38).
    try await withAgent({ $0.limits = RateLimits(bytesPerSecond: 1 << 40) }) { loop, agent, origin in
      let gates = try (0..<3).map { _ in try Gate() }
      for (index, gate) in gates.enumerated() { origin.route("/\(index)", .late(Self.body, until: gate)) }
      origin.route("/f", .file(Self.body))
      let address = try origin.address("/f")
      let tasks = try (0..<3).map { Self.begin(agent, try origin.address("/\($0)")) }
      try await origin.wait(forRequests: 3)
      await agent.keep([
        (host: address.hostAndPort, count: 2), (host: "elsewhere:80", count: 0),
      ])
      #expect(await agent.connectionCount == 3, "all are in use")
      if isAtOnce {
        loop.inbox.hold(true)
        #expect(await agent.connectionCount == 3, "this runs once the loop is held")
        for (index, gate) in gates.enumerated() {
          gate.open()
          try await origin.wait(path: "/\(index)", bodyBytesSent: Self.body.count)
        }
        loop.inbox.hold(false)
      }
      for (gate, task) in zip(gates, tasks) {
        gate.open()
        #expect(await task.value == "200")
      }
      #expect(await agent.connectionCount == 2)
      await agent.keep([(host: address.hostAndPort, count: 0)])
      try await origin.wait(for: "the connections to be closed") { $0.connectionsOpen == 0 }
      #expect(await agent.connectionCount == 0)
      await agent.keep([(host: address.hostAndPort, count: nil)])
      #expect(await Self.begin(agent, address).value == "200")
      #expect(await agent.connectionCount == 1)
    }
  }

  /// Only a request whose connection has brought nothing yet is looked at.
  @Test(arguments: [false, true])
  func watchesNewConnections(isLimited: Bool) async throws {
    try await withAgent({ $0.limits = RateLimits(bytesPerSecond: isLimited ? 1 << 40 : 0) }) {
      loop, agent, origin in
      origin.route("/f", .silence())
      origin.route("/g", .file(Self.body))
      #expect(await Self.begin(agent, try origin.address("/g")).value == "200")
      #expect(await agent.watchUnanswered(after: 1) == false)
      // On the connection that has answered before.
      let reused = Self.begin(agent, try origin.address("/f"))
      try await origin.wait(for: "the request") { $0.inFlight == 1 }
      #expect(await agent.watchUnanswered(after: 1) == false)
      let new = Self.begin(agent, try origin.address("/f"))
      try await origin.wait(for: "both requests") { $0.inFlight == 2 }
      #expect(await agent.watchUnanswered(after: 1) == !isLimited)
      await agent.failAll("over")
      _ = await (reused.value, new.value)
      #expect(await agent.watchUnanswered(after: 1) == false)
    }
  }
}

extension CurlAgent {
  /// Idle ones and those that come up included.
  var connectionCount: Int { loop.poll.connectionCount }
}
