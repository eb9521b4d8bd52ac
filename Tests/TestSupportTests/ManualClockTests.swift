import Testing

@testable import TestSupport

@Suite("A clock that the test moves")
struct ManualClockTests {
  @Test func `Sleepers wake when their time has come, and not before`() async throws {
    let clock = ManualClock()
    try await withThrowingTaskGroup(of: Int.self) { group in
      for seconds in [3, 1, 2] {
        group.addTask {
          try await clock.sleep(for: .seconds(seconds))
          return seconds
        }
      }
      try await clock.waitForSleepers(3)
      clock.advance(by: .seconds(1))
      #expect(try await group.next() == 1)
      try await clock.waitForSleepers(2)
      clock.advance(by: .milliseconds(999))
      try await clock.waitForSleepers(2)
      clock.advance(by: .milliseconds(1))
      #expect(try await group.next() == 2)
      clock.advance(by: .seconds(10))
      #expect(try await group.next() == 3)
    }
    #expect(clock.now.offset == .seconds(12))
    #expect(Set(clock.requestedSleeps) == [.seconds(1), .seconds(2), .seconds(3)])
  }

  @Test func `A deadline in the past does not sleep`() async throws {
    let clock = ManualClock()
    let start = clock.now
    clock.advance(by: .seconds(1))
    try await clock.sleep(until: start)
  }

  @Test func `A cancelled sleeper wakes at once`() async throws {
    let clock = ManualClock()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await clock.sleep(for: .seconds(1)) }
      try await clock.waitForSleepers(1)
      group.cancelAll()
      await #expect(throws: CancellationError.self) { try await group.next() }
    }
    #expect(clock.now.offset == .zero)
  }

  @Test func `A task that is cancelled already does not fall asleep`() async {
    let clock = ManualClock()
    await withThrowingTaskGroup(of: Void.self) { group in
      group.cancelAll()
      group.addTask { try await clock.sleep(for: .seconds(1)) }
      await #expect(throws: CancellationError.self) { try await group.next() }
    }
  }
}
