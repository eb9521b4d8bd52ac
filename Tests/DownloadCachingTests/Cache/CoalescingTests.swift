import DownloadModel
import Synchronization
import Testing

@testable import DownloadCaching

@Suite("Equal requests at one time are one piece of work (http.md 19)")
struct CoalescingTests {
  private static let address = "http://host/x"
  private static let body = pattern(3 << 20)

  private let folder: TemporaryFolder
  private let server = FakeServer()
  private let started = Gate()
  private let mayEnd = Gate()
  /// Held only by the test of work that takes its time to leave.
  private let mayLeave = Gate()

  init() throws {
    folder = try TemporaryFolder()
    server.put(Self.address, Self.body)
    mayLeave.open()
  }

  /// A fetch that receives some bytes, waits at the gate, and is lost when cancelled there.
  private func slowGet(_ run: Run, meter: TransferMeter = TransferMeter()) -> Task<
    Result<DownloadOutcome, DownloadError>, Never
  > {
    let (server, started, mayEnd, mayLeave) = (server, started, mayEnd, mayLeave)
    // A task of its own, because the test cancels one asker and not another.
    return Task {
      do throws(DownloadError) {
        guard let address = try? Address(Self.address) else { throw .cancelled }
        let request = DownloadRequest(id: 0, address: address)
        return .success(
          try await run.cache.file(for: request, meter: meter) { target throws(DownloadError) in
            server.cutNext(after: 1_500_000)
            do throws(DownloadError) { _ = try server.fetch(target) } catch {}
            started.open()
            await mayEnd.wait()
            if Task.isCancelled {
              await mayLeave.waitWhateverComes()
              throw .cancelled
            }
            return try server.fetch(target)
          })
      } catch { return .failure(error) }
    }
  }

  /// Returns when so many wait for the file.
  private func until(_ run: Run, askers: Int) async throws {
    let key = DownloadKey(address: try Address(Self.address), requested: nil)
    while await run.cache.commons.work(for: key)?.askers != askers { await Task.yield() }
  }

  @Test func theyShareOneFetch() async throws {
    let run = Run(in: folder, server)
    let meter = TransferMeter()
    let first = slowGet(run)
    await started.wait()
    let second = slowGet(run, meter: meter)
    try await until(run, askers: 2)
    mayEnd.open()
    #expect(try await first.value.get().kind == .fetched)
    let shared = try await second.value.get()
    #expect(shared.kind == .unchanged && shared.transferred == 0 && shared.size == Int64(Self.body.count))
    #expect(meter.position == shared.size)
    #expect(server.requests.count == 2)
    _ = await run.cache.close()
    #expect(try folder.names("out") == ["x"])
  }

  @Test func oneThatLeavesIsAnsweredAtOnceAndTheOtherServed() async throws {
    let run = Run(in: folder, server)
    let first = slowGet(run)
    await started.wait()
    let second = slowGet(run)
    try await until(run, askers: 2)
    first.cancel()
    // The gate is still closed: nothing but the cancellation can have ended it.
    #expect(await first.value == .failure(.cancelled))
    mayEnd.open()
    #expect(try await second.value.get().size == Int64(Self.body.count))
    _ = await run.cache.close()
  }

  @Test func theLastOneThatLeavesCancelsTheWorkAndItsPartStays() async throws {
    let run = Run(in: folder, server)
    let first = slowGet(run)
    await started.wait()
    let second = slowGet(run)
    try await until(run, askers: 2)
    first.cancel()
    second.cancel()
    #expect(await first.value == .failure(.cancelled))
    #expect(await second.value == .failure(.cancelled))
    _ = await run.cache.close()
    #expect(try folder.names("out") == ["x.part", "x.part.json"])
    #expect(try folder.bytes("out/x.part").count == 1_500_000)
  }

  /// Asked for again while the cancelled work is still putting its part in order: no second part beside it.
  @Test func askedForAgainAfterAllLeft() async throws {
    let run = Run(in: folder, server)
    let first = slowGet(run)
    await started.wait()
    mayLeave.close()
    first.cancel()
    #expect(await first.value == .failure(.cancelled))
    let second = slowGet(run)
    try await until(run, askers: 1)
    #expect(server.requests.count == 1)
    mayLeave.open()
    #expect(try await second.value.get().resumed == 1_500_000)
    _ = await run.cache.close()
    #expect(try folder.names("out") == ["x"])
  }

  @Test func anotherNameIsAnotherFile() async throws {
    let run = Run(in: folder, server, cacheFolder: nil)
    async let one = run.get(Self.address, output: "a")
    async let two = run.get(Self.address, output: "b")
    _ = try await (one, two)
    #expect(server.requests.count == 2)
    _ = await run.cache.close()
    #expect(try folder.names("out") == ["a", "b"])
  }
}
