import DownloadModel
import DownloadScheduling
import TestSupport
import Testing

@Suite("The limit of a host holds over all lanes, in order, and lets other hosts be")
struct HostLimiterTests {
  @Test func neverMoreThanTheLimit() async throws {
    let limiter = HostLimiter(limit: 3)
    let recorder = Recorder()
    let address = try Address("http://a/")
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<100 {
        group.addTask {
          try await limiter.withSlot(of: "a") {
            await recorder.download(DownloadRequest(id: index, address: address))
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(recorder.started.count == 100)
    #expect(recorder.greatestAtOnce <= 3)
  }

  @Test func anotherHostHasItsOwn() async throws {
    let limiter = HostLimiter(limit: 1)
    let gate = try Gate()
    let held = Task { try await limiter.withSlot(of: "a") { try? await gate.wait() } }
    try await limiter.withSlot(of: "b") {}
    gate.open()
    try await held.value
  }

  @Test func aCancelledWaiterLeavesTheQueue() async throws {
    let limiter = HostLimiter(limit: 1)
    let recorder = Recorder(holds: true)
    let request = DownloadRequest(id: 1, address: try Address("http://a/"))
    let first = Task { try await limiter.withSlot(of: "a") { await recorder.download(request) } }
    await recorder.wait(forStarted: 1)
    let second = Task { try await limiter.withSlot(of: "a") { await recorder.download(request) } }
    let third = Task { try await limiter.withSlot(of: "a") { await recorder.download(request) } }
    second.cancel()
    #expect(await #expect(throws: DownloadError.self) { try await second.value }?.code == .cancelled)
    recorder.open()
    try await first.value
    try await third.value
    #expect(recorder.started.count == 2)
  }

  @Test func aFailureGivesTheSlotBack() async throws {
    let limiter = HostLimiter(limit: 1)
    for _ in 0..<3 {
      await #expect(throws: DownloadError.self) {
        try await limiter.withSlot(of: "a") { () throws(DownloadError) in throw DownloadError(.reset) }
      }
    }
    try await limiter.withSlot(of: "a") {}
  }
}
