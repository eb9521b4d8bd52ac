import Testing

@testable import TestSupport

@Suite("Waiting on a monitor")
struct MonitorTests {
  @Test func `Each waiter wakes at its own condition`() async throws {
    let monitor = Monitor(0)
    try await withThrowingTaskGroup(of: Int.self) { group in
      for wanted in 1...3 {
        group.addTask {
          try await monitor.wait(for: "\(wanted)") { $0 >= wanted }
          return wanted
        }
      }
      for wanted in 1...3 {
        monitor.withState { $0 = wanted }
        let woken = try await group.next()
        #expect(woken == wanted)
      }
    }
  }

  @Test func `A wait has a limit, and the failure says for what`() async {
    let failure = await #expect(throws: SupportFailure.self) {
      try await Monitor(0).wait(for: "a miracle", within: .milliseconds(10)) { $0 == 1 }
    }
    #expect(failure?.description.contains("a miracle") == true)
  }

  @Test(arguments: [true, false])
  func `A cancelled task waits no longer`(_ cancelledBefore: Bool) async {
    let monitor = Monitor(0)
    await withThrowingTaskGroup(of: Void.self) { group in
      if cancelledBefore { group.cancelAll() }
      group.addTask { try await monitor.wait(for: "a miracle") { $0 == 1 } }
      group.cancelAll()
      let failure = await #expect(throws: SupportFailure.self) { try await group.next() }
      #expect(failure?.description.contains("cancelled") == true)
    }
  }
}
