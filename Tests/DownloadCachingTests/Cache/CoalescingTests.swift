@testable import FileReceiving
import DownloadModel
import TestSupport
import Testing

@testable import DownloadCaching

@Suite("Equal requests at one time are one piece of work (HTTP rule 19)", .timeLimit(.minutes(hangMinutes)))
struct CoalescingTests {
  private static let address = "http://host/x"
  private static let body = pattern(3 << 20)

  private let folder: TemporaryFolder
  private let server = FakeServer()
  private let started: Gate
  private let mayEnd: Gate

  init() throws {
    folder = try TemporaryFolder()
    started = try Gate()
    mayEnd = try Gate()
    server.put(Self.address, Self.body)
  }

  private typealias Asker = Task<Result<DownloadOutcome, DownloadError>, Never>

  /// A fetch that receives some bytes, waits at the gate, and is lost when cancelled there.
  /// - Parameter mayLeave: the gate of a fetch that takes its time to leave when it is cancelled.
  private func slowGet(
    _ run: Run, meter: TransferMeter = TransferMeter(), mayLeave: Gate? = nil, size: Int64? = nil
  ) -> Asker {
    let (server, started, mayEnd) = (server, started, mayEnd)
    // A task of its own, because the test cancels one asker and not another.
    return Task {
      do throws(DownloadError) {
        guard let address = try? Address(Self.address) else { throw .cancelled }
        let request = DownloadRequest(id: 0, address: address, wishes: .init(size: size))
        return .success(
          try await run.get(request, meter: meter) { download throws(DownloadError) in
            server.cutNext(after: 1_500_000)
            do throws(DownloadError) { _ = try server.fetch(download) } catch {}
            started.open()
            try? await mayEnd.wait()
            if Task.isCancelled {
              try? await mayLeave?.waitThroughCancellation()
              throw .cancelled
            }
            return try server.fetch(download)
          })
      } catch { return .failure(error) }
    }
  }

  /// Returns when so many wait for what another does.
  private func until(_ run: Run, waiting count: Int) async throws {
    let key = DownloadRequest.Key(address: try Address(Self.address))
    while await run.cache.waiting(for: key) != count {
      try Task.checkCancellation()  // the time limit's
      await Task.yield()
    }
  }

  /// - Parameter waiter: of the same run, on another network loop; `nil` for the same loop.
  private func oneWorksAndOneWaits(
    _ run: Run, waiter: Run? = nil, waiterMeter: TransferMeter = TransferMeter()
  ) async throws -> (works: Asker, waits: Asker) {
    let works = slowGet(run)
    try await started.wait()
    let waits = slowGet(waiter ?? run, meter: waiterMeter)
    try await until(run, waiting: 1)
    return (works, waits)
  }

  @Test(arguments: [false, true]) func theyShareOneFetch(onTwoLoops: Bool) async throws {
    let run = Run(in: folder, server)
    let other = onTwoLoops ? run.onAnotherLoop() : run
    let meter = TransferMeter()
    let (first, second) = try await oneWorksAndOneWaits(run, waiter: other, waiterMeter: meter)
    mayEnd.open()
    #expect(try await first.value.get().kind == .fetched)
    let shared = try await second.value.get()
    #expect(shared.kind == .unchanged && shared.transferred == 0 && shared.size == Int64(Self.body.count))
    #expect(meter.position == shared.size)
    #expect(server.requests.count == 2)
    #expect(try await other.get(Self.address).kind == .unchanged, "from memory, on either loop")
    #expect(server.requests.count == 2)
    for run in onTwoLoops ? [run, other] : [run] { _ = await run.cache.close() }
    #expect(try folder.names(in: "out") == ["x"])
  }

  /// Threads race for each file: one of them downloads it, and the others get its answer.
  @Test func manyAtOnceOnTwoLoops() async throws {
    let run = Run(in: folder, server)
    let loops = [run, run.onAnotherLoop()]
    let names = (0..<50).map { "http://host/\($0)" }
    for name in names { server.put(name, pattern(100)) }
    let kinds = try await withThrowingTaskGroup(of: DownloadOutcome.Kind.self) { group in
      for name in names {
        for number in 0..<6 { group.addTask { try await loops[number % 2].get(name).kind } }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(kinds.count { $0 == .fetched } == names.count && kinds.count == 6 * names.count)
    #expect(server.requests.count == names.count)
    for run in loops { _ = await run.cache.close() }
  }

  /// The one who did the work is cancelled: the next goes on where it stood.
  @Test(arguments: [false, true]) func whoDoesTheWorkIsCancelledAndAnotherGoesOn(onTwoLoops: Bool) async throws {
    let run = Run(in: folder, server)
    let other = onTwoLoops ? run.onAnotherLoop() : run
    let first = slowGet(run)
    try await started.wait()
    let second = slowGet(other)
    let third = slowGet(run)
    try await until(run, waiting: 2)
    first.cancel()
    // The gate is still closed: nothing but the cancellation can have ended it.
    #expect(await first.value == .failure(.cancelled))
    try await until(run, waiting: 1)
    mayEnd.open()
    let outcomes = [try await second.value.get(), try await third.value.get()]
    #expect(outcomes.allSatisfy { $0.size == Int64(Self.body.count) })
    #expect(outcomes.map(\.kind).sorted { "\($0)" < "\($1)" } == [.fetched, .unchanged])
    // Not a byte came twice.
    #expect(outcomes.map(\.transferred).reduce(0, +) == Int64(Self.body.count))
    for run in onTwoLoops ? [run, other] : [run] { _ = await run.cache.close() }
    #expect(try folder.names(in: "out") == ["x"])
  }

  @Test func oneThatWaitsIsCancelledAndTheWorkGoesOn() async throws {
    let run = Run(in: folder, server)
    let (first, second) = try await oneWorksAndOneWaits(run)
    second.cancel()
    #expect(await second.value == .failure(.cancelled))
    try await until(run, waiting: 0)
    mayEnd.open()
    #expect(try await first.value.get().kind == .fetched)
    #expect(server.requests.count == 2)
    _ = await run.cache.close()
  }

  /// Of two lines for one URL, the one that declares a wrong size came first, and failed both.
  @Test func aWrongSizeOfOneLineIsNotTheOthers() async throws {
    let run = Run(in: folder, server)
    let first = slowGet(run, size: 2999)
    try await started.wait()
    let second = slowGet(run)
    try await until(run, waiting: 1)
    mayEnd.open()
    let error = try await #require(throws: DownloadError.self) { try await first.value.get() }
    #expect(error.code == .wrongSize)
    #expect(try await second.value.get().size == Int64(Self.body.count))
    _ = await run.cache.close()
    #expect(try folder.names(in: "out") == ["x"])
  }

  @Test func aFailureIsTheAnswerOfAllThatWait() async throws {
    let run = Run(in: folder, server)
    let (first, second) = try await oneWorksAndOneWaits(run)
    server.remove(Self.address)
    mayEnd.open()
    let answers = await [first.value, second.value]
    let error = try #require(throws: DownloadError.self) { try answers[0].get() }
    #expect(error.cause == .http(status: 404))
    #expect(answers[1] == .failure(error.coalesced))
    #expect(server.requests.count == 2)
    _ = await run.cache.close()
  }

  @Test func allAreCancelledAndThePartStays() async throws {
    let run = Run(in: folder, server)
    let (first, second) = try await oneWorksAndOneWaits(run)
    // In this order, or the second might begin to do the work.
    second.cancel()
    #expect(await second.value == .failure(.cancelled))
    first.cancel()
    #expect(await first.value == .failure(.cancelled))
    _ = await run.cache.close()
    #expect(try folder.names(in: "out") == ["x.part", "x.part.json"])
    #expect(try folder.read("out/x.part").count == 1_500_000)
  }

  /// Asked for again while the cancelled work is still putting its part in order: no second part beside it.
  @Test func askedForAgainWhileTheCancelledWorkLeaves() async throws {
    let run = Run(in: folder, server)
    let mayLeave = try Gate()
    let first = slowGet(run, mayLeave: mayLeave)
    try await started.wait()
    first.cancel()
    let second = slowGet(run)
    try await until(run, waiting: 1)
    #expect(server.requests.count == 1)
    mayLeave.open()
    mayEnd.open()
    #expect(await first.value == .failure(.cancelled))
    let outcome = try await second.value.get()
    #expect(outcome.transferred == Int64(Self.body.count) && outcome.resumed == 0)
    _ = await run.cache.close()
    #expect(try folder.names(in: "out") == ["x"])
  }

  /// Cancelled when nothing was left but to compare its checksum: the other does that, and asks for nothing.
  @Test func aWholeFileIsHandedOn() async throws {
    let run = Run(in: folder, server)
    let request = DownloadRequest(id: 0, address: try Address(Self.address))
    let first = try await run.cache.open(request, meter: TransferMeter())
    guard case .missing(let download) = first else { throw DownloadError.lost }
    // A task of its own, because it waits for the first.
    let second = Task { try await run.cache.open(request, meter: TransferMeter()) }
    try await until(run, waiting: 1)
    #expect(try download.finish(try server.fetch(download)))
    #expect(await run.cache.close(download, after: .cancelled, comesAgain: false) == nil)
    guard case .missing(let same) = try await second.value else { throw DownloadError.lost }
    #expect(same === download)
    #expect(try same.nextTransfer() == nil)
    #expect(try await run.cache.commit(same)?.size == Int64(Self.body.count))
    #expect(server.requests.count == 1)
    _ = await run.cache.close()
  }

  @Test func anotherNameIsAnotherFile() async throws {
    let run = Run(in: folder, server, cacheFolder: nil)
    async let one = run.get(Self.address, output: "a")
    async let two = run.get(Self.address, output: "b")
    _ = try await (one, two)
    #expect(server.requests.count == 2)
    _ = await run.cache.close()
    #expect(try folder.names(in: "out") == ["a", "b"])
  }
}
