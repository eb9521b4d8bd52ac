import DownloadModel
import Synchronization
import TestSupport
import Testing

@testable import CurlTransport

/// A transfer whose task is cancelled while its sink keeps it goes on, and another task gets its end.
@Suite("A transfer is handed on", .timeLimit(.minutes(hangMinutes)))
struct HandOnTests {
  private static let body = SplitMix64.bytes(count: 200_000, seed: 12)

  /// When the first task is cancelled.
  enum Moment: CaseIterable {
    case beforeTheHead, inTheBody, underWay
  }

  /// Collects, and keeps its transfer as often as the test wants.
  private final class KeepingSink: ByteSink {
    private let collected: CollectingSink
    private let state: Lock<State>

    private struct State {
      var keeps: Int
      var asked = 0
      var kept: RunningTransfer?
    }

    init(keeps: Int = .max, isSplittable: Bool) {
      collected = CollectingSink { _ throws(DownloadError) in isSplittable ? .splittable : .write }
      state = Lock(State(keeps: keeps))
    }

    var bytes: [UInt8] { collected.bytes }
    var asked: Int { state.withLock { $0.asked } }
    var kept: RunningTransfer? { state.withLock { $0.kept } }

    func accept(_ head: ResponseHead) throws(DownloadError) -> BodyDisposition { try collected.accept(head) }
    func write(_ bytes: UnsafeRawBufferPointer) throws(DownloadError) -> SinkDemand {
      try collected.write(bytes)
    }

    func keep(_ running: RunningTransfer) -> Bool {
      state.withLock { state in
        #expect(state.kept == nil || state.kept === running, "the same one each time")
        state.asked += 1
        guard state.asked <= state.keeps else { return false }
        state.kept = running
        return true
      }
    }
  }

  /// A transfer that stands still at its moment until the gate opens.
  private struct Stage {
    let gate: Gate
    let sink: KeepingSink
    let first: Task<Result<TransferReceipt, DownloadError>, Never>

    /// - Parameter isOnLoop: whether the first task is one of the loop's, or one that comes from outside.
    init(
      _ moment: Moment, keeps: Int, isOnLoop: Bool, _ transport: CurlTransport, _ origin: FaultyOrigin
    ) async throws {
      let gate = try Gate()
      self.gate = gate
      switch moment {
      case .beforeTheHead: origin.route("/f", .late(body, until: gate))
      case .inTheBody, .underWay:
        origin.route("/f", .file(body, FileOptions(ending: .stall(after: 5000, until: gate))))
      }
      let sink = KeepingSink(keeps: keeps, isSplittable: moment == .underWay)
      self.sink = sink
      let (lane, request) = (Lane(transport), TransferRequest(address: try origin.address("/f")))
      let (isUnderWay, tell) = AsyncStream.makeStream(of: Void.self)
      first =
        isOnLoop
        ? task(on: transport) { await lane.startAndWait(request, into: sink) { tell.finish() } }
        : Task {
          do throws(DownloadError) {
            switch try await transport.run(request, into: sink) {
            case .ended(let receipt): return .success(receipt)
            case .underWay(let running):
              tell.finish()
              return .success(try await running.receipt())
            }
          } catch { return .failure(error) }
        }
      switch moment {
      case .beforeTheHead: try await origin.wait(forRequests: 1)
      case .inTheBody:
        try await origin.wait(path: "/f", bodyBytesSent: 5000)
        while sink.bytes.count < 5000 { await Task.yield() }
      case .underWay: for await _ in isUnderWay {}
      }
    }
  }

  @Test(arguments: Moment.allCases, [true, false])
  func whatIsKeptGoesOn(_ moment: Moment, isOnLoop: Bool) async throws {
    try await withTransport { transport, origin in
      let stage = try await Stage(moment, keeps: .max, isOnLoop: isOnLoop, transport, origin)
      stage.first.cancel()
      expectCancelled(await stage.first.value)
      let running = try #require(stage.sink.kept)
      let second = task(on: transport) { [lane = Lane(transport)] in await lane.wait(for: running) }
      stage.gate.open()
      #expect(try await second.value.get().bodyBytes == 200_000)
      #expect(stage.sink.bytes == Self.body && stage.sink.asked == 1)
      #expect(origin.log.count == 1, "nothing was asked for twice")
      #expect(running.delay > .zero)
    }
  }

  @Test(arguments: Moment.allCases, [true, false])
  func cancelledTwice(_ moment: Moment, isOnLoop: Bool) async throws {
    try await withTransport { transport, origin in
      let stage = try await Stage(moment, keeps: .max, isOnLoop: isOnLoop, transport, origin)
      stage.first.cancel()
      expectCancelled(await stage.first.value)
      let running = try #require(stage.sink.kept)
      let second = Task { try await running.receipt() }
      second.cancel()
      await #expect(throws: DownloadError.self) { _ = try await second.value }
      stage.gate.open()
      #expect(try await running.receipt().bodyBytes == 200_000)
      #expect(stage.sink.bytes == Self.body && stage.sink.asked == 2)
      #expect(origin.log.count == 1)
    }
  }

  @Test(arguments: Moment.allCases, [true, false])
  func whatIsNotKeptIsTakenOutAtOnce(_ moment: Moment, isOnLoop: Bool) async throws {
    try await withTransport { transport, origin in
      let stage = try await Stage(moment, keeps: 0, isOnLoop: isOnLoop, transport, origin)
      stage.first.cancel()
      expectCancelled(await stage.first.value)
      #expect(stage.sink.asked == 1)
      try await origin.wait(for: "the connection to be closed") { $0.connectionsOpen == 0 }
    }
  }

  /// The second task is cancelled too, and no task waits any more.
  @Test(arguments: Moment.allCases)
  func keptOnceAndThenTakenOut(_ moment: Moment) async throws {
    try await withTransport { transport, origin in
      let stage = try await Stage(moment, keeps: 1, isOnLoop: true, transport, origin)
      stage.first.cancel()
      expectCancelled(await stage.first.value)
      let running = try #require(stage.sink.kept)
      let second = task(on: transport) { [lane = Lane(transport)] in await lane.wait(for: running) }
      second.cancel()
      expectCancelled(await second.value)
      #expect(stage.sink.asked == 2)
      try await origin.wait(for: "the connection to be closed") { $0.connectionsOpen == 0 }
    }
  }

  @Test(arguments: Moment.allCases)
  func endedWithoutBeingAwaited(_ moment: Moment) async throws {
    try await withTransport { transport, origin in
      let stage = try await Stage(moment, keeps: 1, isOnLoop: true, transport, origin)
      stage.first.cancel()
      expectCancelled(await stage.first.value)
      let running = try #require(stage.sink.kept)
      running.cancel()
      try await origin.wait(for: "the connection to be closed") { $0.connectionsOpen == 0 }
      await #expect(throws: DownloadError.self) { _ = try await running.receipt() }
      running.cancel()
      #expect(stage.sink.asked == 1, "the sink has no say in this")
    }
  }

  /// It ended while no task awaited it: its end is kept.
  @Test func endedBeforeItIsAwaitedAgain() async throws {
    try await withTransport { transport, origin in
      let stage = try await Stage(.underWay, keeps: 1, isOnLoop: true, transport, origin)
      stage.first.cancel()
      expectCancelled(await stage.first.value)
      let running = try #require(stage.sink.kept)
      stage.gate.open()
      while stage.sink.bytes.count < Self.body.count { await Task.yield() }
      // One round of the loop more, in which the transfer ends.
      _ = try await transport.fetch(try origin.address("/f"))
      let late = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        return try await running.receipt()
      }
      #expect(try await late.value.bodyBytes == 200_000, "a cancellation does not harm what has ended")
      #expect(try await running.receipt().bodyBytes == 200_000)
      #expect(stage.sink.bytes == Self.body && stage.sink.asked == 1)
    }
  }

  /// One transfer at a time tries the login of a proxy, until it has ended: not only until its task was
  /// cancelled.
  @Test func theTurnToAskAProxyGoesWithTheTransfer() async throws {
    let server = try FaultyOrigin()
    defer { server.stop() }
    let gate = try Gate()
    server.route("http://example.invalid/f", .late(Self.body, until: gate))
    let proxy = Proxy(try ProxyAddress("http://u:p@127.0.0.1:\(server.port)"))
    try await withTransport({ $0.proxies = [.http: proxy, .https: proxy] }) { transport, _ in
      let (lane, sink) = (Lane(transport), KeepingSink(isSplittable: false))
      let request = TransferRequest(address: try Address("http://example.invalid/f"))
      let first = task(on: transport) { await lane.fetch(request, into: sink) }
      try await server.wait(forRequests: 1)
      first.cancel()
      expectCancelled(await first.value)
      let running = try #require(sink.kept)
      let other = Task { try await proxy.enter() }
      gate.open()
      #expect(try await running.receipt().bodyBytes == 200_000)
      #expect(try await other.value == false, "the proxy let the first one through")
    }
  }

  /// Cancelled in every state, by chance: each byte comes once, whatever was handed on when.
  @Test func aThousandRounds() async throws {
    try await withTransport { transport, origin in
      let body = Array(Self.body.prefix(60_000))
      origin.route("/f", .file(body, FileOptions(ending: .trickle(piece: 10_000, every: .microseconds(200)))))
      let request = TransferRequest(address: try origin.address("/f"))
      try await withThrowingTaskGroup { group in
        for lane in 0..<10 {
          group.addTask {
            var (random, round, handedOn) = (SplitMix64(seed: UInt64(lane)), 0, 0)
            // By chance some transfers end before they are cancelled.
            while handedOn < 100 {
              handedOn += try await Self.round(round, body, request, transport, &random)
              round += 1
            }
          }
        }
        try await group.waitForAll()
      }
    }
  }

  /// - Returns: how often the transfer was handed on.
  private static func round(
    _ number: Int, _ body: [UInt8], _ request: TransferRequest, _ transport: CurlTransport,
    _ random: inout SplitMix64
  ) async throws -> Int {
    let (lane, sink) = (Lane(transport), KeepingSink(isSplittable: number % 2 == 0))
    var handedOn = 0
    var current = task(on: transport) { await lane.startAndWait(request, into: sink) }
    for _ in 0..<4 {
      try await Task.sleep(for: .microseconds(Int.random(in: 0...700, using: &random)))
      current.cancel()
      guard case .failure(let error) = await current.value else { break }
      #expect(error.code == .cancelled)
      if let running = sink.kept {
        handedOn += 1
        current = task(on: transport) { await lane.wait(for: running) }
      } else {
        // Cancelled before it came to the loop.
        #expect(sink.bytes.isEmpty)
        current = task(on: transport) { await lane.startAndWait(request, into: sink) }
      }
    }
    #expect(try await current.value.get().bodyBytes == Int64(body.count))
    #expect(sink.bytes == body)
    return handedOn
  }
}
