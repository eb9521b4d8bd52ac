import CurlTransport
import DownloadModel
import TestSupport
import Testing

/// The way that dlm itself takes: an actor isolated on the loop calls the transport from there, in a task
/// that prefers the loop's executor, and neither leaves the thread. `withTransport`'s `fetch` goes the same
/// way for the other tests of the room.
@Suite("Transfers that are begun on the loop")
struct OnLoopTests {
  private static let body = SplitMix64.bytes(count: 200_000, seed: 11)

  private static func request(_ origin: FaultyOrigin, _ path: String = "/f") throws -> TransferRequest {
    TransferRequest(address: try origin.address(path))
  }

  private static func splittable() -> CollectingSink {
    CollectingSink { _ throws(DownloadError) in .splittable }
  }

  // MARK: Whole transfers

  /// - Parameter prefers: whether the task prefers the loop's executor too. Without, Swift once ran the
  ///   operation of the cancellation handler in no actor's isolation, and the shortcut crashed.
  @Test(arguments: [true, false])
  func success(prefers: Bool) async throws {
    try await withTransport { transport, origin in
      origin.route("/f", .file(Self.body))
      let (lane, sink, request) = (Lane(transport), CollectingSink(), try Self.request(origin))
      let receipt = try await withTaskExecutorPreference(prefers ? transport.taskExecutor : nil) {
        try await lane.fetch(request, into: sink).get()
      }
      #expect(receipt.status == 200 && receipt.bodyBytes == 200_000 && receipt.proof == .length)
      #expect(sink.bytes == Self.body)
    }
  }

  @Test func manyAtOnce() async throws {
    try await withTransport { transport, origin in
      origin.route("/f", .file(Self.body))
      let (lane, request) = (Lane(transport), try Self.request(origin))
      await withTaskGroup(of: Bool.self) { group in
        for _ in 0..<64 {
          group.addTask(executorPreference: transport.taskExecutor) {
            let sink = CollectingSink()
            _ = await lane.fetch(request, into: sink)
            return sink.bytes == Self.body
          }
        }
        #expect(await group.allSatisfy { $0 })
      }
    }
  }

  @Test func failures() async throws {
    try await withTransport { transport, origin in
      origin.route("/cut", .file(Self.body, FileOptions(ending: .close(after: 1000))))
      origin.route("/f", .file(Self.body))
      let lane = Lane(transport)
      let closedPort = try RefusedPort()
      let refused = TransferRequest(address: try Address(closedPort.url("/")))
      let (cut, whole) = (try Self.request(origin, "/cut"), try Self.request(origin))
      let codes = await withTaskExecutorPreference(transport.taskExecutor) {
        var codes: [DownloadError.Code?] = []
        for (request, sink) in [
          (cut, CollectingSink()), (refused, CollectingSink()), (whole, CollectingSink(failsAfter: 10)),
          (whole, CollectingSink { _ throws(DownloadError) in throw DownloadError(.range) }),
        ] {
          if case .failure(let error) = await lane.fetch(request, into: sink) { codes.append(error.code) }
        }
        return codes
      }
      #expect(codes == [.shortBody, .connect, .diskFull, .range])
      withExtendedLifetime(closedPort) {}
    }
  }

  // MARK: Cancelled

  /// Its task is cancelled before it comes to the loop: `onCancel` finds nothing, and the start has to look.
  @Test func cancelledBeforeItBegins() async throws {
    try await withTransport { transport, origin in
      origin.route("/f", .silence())
      let (lane, request) = (Lane(transport), try Self.request(origin))
      for isSplit in [false, true] {
        // Until then the task does not even run: the loop is held.
        let hold = Hold()
        let blocker = task(on: transport) { hold.wait() }
        await hold.isReached()
        let task = task(on: transport) {
          isSplit
            ? await lane.start(request, into: Self.splittable()).map { _ in }
            : await lane.fetch(request, into: CollectingSink()).map { _ in }
        }
        task.cancel()
        hold.release()
        await blocker.value
        expectCancelled(await task.value)
      }
      #expect(origin.log.isEmpty, "nothing was asked for")
    }
  }

  @Test func cancelledBeforeTheAnswer() async throws {
    try await withTransport { transport, origin in
      origin.route("/f", .silence())
      let (lane, request) = (Lane(transport), try Self.request(origin))
      let fetch = task(on: transport) { await lane.fetch(request, into: CollectingSink()) }
      let start = task(on: transport) { await lane.start(request, into: Self.splittable()) }
      try await origin.wait(for: "both requests") { $0.inFlight == 2 }
      fetch.cancel()
      expectCancelled(await fetch.value)
      start.cancel()
      expectCancelled(await start.value)
      try await origin.wait(for: "the connections to be closed") { $0.connectionsOpen == 0 }
    }
  }

  @Test func cancelledInTheMiddle() async throws {
    try await withTransport { transport, origin in
      origin.route("/f", .file(Self.body, FileOptions(ending: .stall(after: 5000))))
      let (lane, request) = (Lane(transport), try Self.request(origin))
      let task = task(on: transport) { await lane.fetch(request, into: CollectingSink()) }
      try await origin.wait(path: "/f", bodyBytesSent: 5000)
      task.cancel()
      expectCancelled(await task.value)
      try await origin.wait(for: "the connection to be closed") { $0.connectionsOpen == 0 }
    }
  }

  // MARK: Told of the head, while the body arrives

  @Test func underWayAndThenWhole() async throws {
    try await withTransport { transport, origin in
      let gate = try Gate()
      origin.route("/f", .file(Self.body, FileOptions(ending: .stall(after: 5000, until: gate))))
      let (lane, sink, request) = (Lane(transport), Self.splittable(), try Self.request(origin))
      let task = task(on: transport) {
        // The body stands still until the starter was told: it was told of the head, not of the end.
        await lane.startAndWait(request, into: sink) { gate.open() }
      }
      let receipt = try await task.value.get()
      #expect(receipt.bodyBytes == 200_000)
      #expect(sink.bytes == Self.body)
    }
  }

  @Test func aSinkThatTakesItWholeIsToldOfTheEnd() async throws {
    try await withTransport { transport, origin in
      origin.route("/f", .file(Self.body))
      let (lane, sink, request) = (Lane(transport), CollectingSink(), try Self.request(origin))
      let stage = try await withTaskExecutorPreference(transport.taskExecutor) {
        try await lane.start(request, into: sink).get()
      }
      guard case .ended(let receipt) = stage else {
        Issue.record("nothing called the body splittable")
        return
      }
      #expect(receipt.bodyBytes == 200_000 && sink.bytes == Self.body)
    }
  }

  @Test func underWayAndThenCut() async throws {
    try await withTransport { transport, origin in
      origin.route("/f", .file(Self.body, FileOptions(ending: .close(after: 5000))))
      let (lane, request) = (Lane(transport), try Self.request(origin))
      let task = task(on: transport) { await lane.startAndWait(request, into: Self.splittable()) {} }
      guard case .failure(let error) = await task.value else {
        Issue.record("half of it is not the whole")
        return
      }
      #expect(error.code == .shortBody)
    }
  }

  @Test func underWayAndThenCancelled() async throws {
    try await withTransport { transport, origin in
      origin.route("/f", .file(Self.body, FileOptions(ending: .stall(after: 5000))))
      let (lane, request) = (Lane(transport), try Self.request(origin))
      let (toldOfHead, tell) = AsyncStream.makeStream(of: Void.self)
      let task = task(on: transport) {
        await lane.startAndWait(request, into: Self.splittable()) { tell.finish() }
      }
      for await _ in toldOfHead {}
      task.cancel()
      expectCancelled(await task.value)
      try await origin.wait(for: "the connection to be closed") { $0.connectionsOpen == 0 }
    }
  }

  /// The task that began it has ended; the task that holds it is another, and waits elsewhere.
  @Test func awaitedByAnotherTaskThanBeganIt() async throws {
    try await withTransport { transport, origin in
      let gate = try Gate()
      origin.route("/f", .file(Self.body, FileOptions(ending: .stall(after: 5000, until: gate))))
      let (lane, sink, request) = (Lane(transport), Self.splittable(), try Self.request(origin))
      let stage = try await task(on: transport) { await lane.start(request, into: sink) }.value.get()
      guard case .underWay(let running) = stage else {
        Issue.record("the body stands still")
        return
      }
      gate.open()
      #expect(try await running.receipt().bodyBytes == 200_000)
      #expect(sink.bytes == Self.body)
    }
  }

  // MARK: The loop ends

  @Test func shutDownWhileTheyRun() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let transport = try CurlTransport(TransportOptions(userAgent: "dlm-test"))
    origin.route("/silent", .silence())
    origin.route("/f", .file(Self.body, FileOptions(ending: .stall(after: 5000))))
    let lane = Lane(transport)
    let (silent, stalled) = (try Self.request(origin, "/silent"), try Self.request(origin))
    let (toldOfHead, tell) = AsyncStream.makeStream(of: Void.self)
    var tasks = [
      task(on: transport) { await lane.fetch(silent, into: CollectingSink()).map { _ in } },
      task(on: transport) { await lane.start(silent, into: Self.splittable()).map { _ in } },
    ]
    // First: on a slow machine, a request after another answer may be requeued as unanswered (HTTP rule 38).
    try await origin.wait(for: "the silent requests") { $0.inFlight == 2 }
    tasks.append(
      task(on: transport) {
        await lane.startAndWait(stalled, into: Self.splittable()) { tell.finish() }.map { _ in }
      })
    for await _ in toldOfHead {}
    await transport.shutdown()
    for task in tasks { expectCancelled(await task.value) }
    try await origin.wait(for: "every connection to be closed") { $0.connectionsOpen == 0 }
  }

  /// The thread has ended: those that come then are refused, and told so.
  @Test func beginningAfterTheEnd() async throws {
    let transport = try CurlTransport(TransportOptions(userAgent: "dlm-test"))
    let lane = Lane(transport)
    await transport.shutdown()
    let request = TransferRequest(address: try Address("http://127.0.0.1:9/"))
    expectCancelled(
      await task(on: transport) { await lane.start(request, into: Self.splittable()) }.value)
  }
}
