import CurlTransport
import DownloadModel
import Glibc
import TestSupport
import Testing

@Suite("The loop is an executor: tasks and actors on it stay on its thread, and it ends in order")
struct LoopTests {
  private actor OnLoop {
    private let executor: any SerialExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    private var count = 0

    init(_ executor: any SerialExecutor) { self.executor = executor }

    func thread() -> pthread_t {
      count += 1
      return pthread_self()
    }
    var calls: Int { count }
  }

  private func currentThread() -> pthread_t { pthread_self() }

  @Test func tasksActorsAndTransfersShareOneThread() async throws {
    try await withTransport { transport, origin in
      origin.route("/f", .file([1, 2, 3]))
      let address = try origin.address("/f")
      let actor = OnLoop(transport.serialExecutor)
      let threads = try await withTaskExecutorPreference(transport.taskExecutor) {
        let before = currentThread()
        let inActor = await actor.thread()
        _ = try await transport.fetch(TransferRequest(address: address), into: CollectingSink())
        let child = await withTaskGroup(of: pthread_t.self) { group in
          group.addTask { self.currentThread() }
          return await group.next()
        }
        return [before, inActor, currentThread(), try #require(child)]
      }
      #expect(Set(threads).count == 1)
    }
  }

  private actor Caller {
    private let executor: any SerialExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    init(_ executor: any SerialExecutor) { self.executor = executor }

    func fetch(_ transport: CurlTransport, _ address: Address) async throws -> [UInt8] {
      let sink = CollectingSink()
      _ = try await transport.fetch(TransferRequest(address: address), into: sink)
      return sink.bytes
    }
  }

  /// Found by a crash: an actor on the loop calls from its thread, but in a task that prefers no executor,
  /// and Swift runs the operation of a cancellation handler elsewhere then. The shortcut must not be taken.
  @Test func anActorOnTheLoopWithoutATaskExecutorIsServedToo() async throws {
    try await withTransport { transport, origin in
      origin.route("/f", .file([1, 2, 3]))
      let caller = Caller(transport.serialExecutor)
      let bytes = try await caller.fetch(transport, try origin.address("/f"))
      #expect(bytes == [1, 2, 3])
    }
  }

  @Test func jobsFromManyThreadsAllRun() async throws {
    try await withTransport { transport, _ in
      let actor = OnLoop(transport.serialExecutor)
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<2000 { group.addTask { _ = await actor.thread() } }
      }
      #expect(await actor.calls == 2000)
    }
  }

  @Test func shutdownCancelsWhatRuns() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let transport = try CurlTransport(TransportOptions(userAgent: "dlm-test"))
    origin.route("/f", .silence())
    let address = try origin.address("/f")
    let tasks = (0..<10).map { _ in Task { try await transport.fetch(address) } }
    try await origin.wait(for: "10 requests") { $0.inFlight == 10 }
    await transport.shutdown()
    for task in tasks {
      #expect(await #expect(throws: DownloadError.self) { _ = try await task.value }?.code == .cancelled)
    }
    try await origin.wait(for: "every connection to be closed") { $0.connectionsOpen == 0 }
  }

  /// A job that arrives after the thread has ended must still run, or its task would wait for ever.
  @Test func lateJobsStillRun() async throws {
    let transport = try CurlTransport(TransportOptions(userAgent: "dlm-test"))
    let actor = OnLoop(transport.serialExecutor)
    await transport.shutdown()
    _ = await actor.thread()
    #expect(await actor.calls == 1)
    let address = try Address("http://127.0.0.1:9/")
    let error = await #expect(throws: DownloadError.self) {
      _ = try await transport.fetch(TransferRequest(address: address), into: CollectingSink())
    }
    #expect(error?.code == .cancelled)
    await transport.shutdown()
  }
}
