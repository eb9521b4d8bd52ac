import Dispatch
import DownloadModel
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import CurlTransport

/// The loop's thread ends, and its actors live on: what comes late, and who waits for the end.
@Suite("The end of a loop")
struct LoopEndTests {
  private actor Late {
    private nonisolated let executor: any SerialExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    /// What a data race would show: read, held, written back.
    private(set) var count = 0

    init(_ executor: any SerialExecutor) { self.executor = executor }

    /// Stands still inside the actor, as a job that takes long does.
    func holdOn(_ hold: Hold) {
      let before = count
      hold.wait()
      count = before + 1
    }

    func step(_ inside: borrowing Atomic<Int>) {
      inside.add(1, ordering: .relaxed)
      preconditionIsolated()
      count += 1
    }
  }

  /// Late jobs ran on a concurrent queue: two at a time in one actor, whose steps then were lost.
  @Test func lateJobsStillTakeTurns() async throws {
    let transport = try CurlTransport(TransportOptions(userAgent: "dlm-test"))
    let late = Late(transport.serialExecutor)
    await transport.shutdown()
    let (hold, entered) = (Hold(), Entered())
    let first = Task { await late.holdOn(hold) }
    await hold.isReached()
    let others = (0..<64).map { _ in
      Task {
        entered.asked.add(1, ordering: .sequentiallyConsistent)
        await late.step(entered.inside)
      }
    }
    while entered.asked.load(ordering: .sequentiallyConsistent) < 64 { await Task.yield() }
    // Every queue that could run them has run others that came later.
    for _ in 0..<200 { await Self.turnOfTheGlobalQueue() }
    #expect(
      entered.inside.load(ordering: .sequentiallyConsistent) == 0, "one at a time, the first is still at it")
    hold.release()
    await first.value
    for other in others { await other.value }
    #expect(await late.count == 65)
  }

  private final class Entered: Sendable {
    let asked = Atomic<Int>(0)
    let inside = Atomic<Int>(0)
  }

  private static func turnOfTheGlobalQueue() async {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async { continuation.resume() }
    }
  }

  /// Tasks that prefer the loop, and actors on it, meet in the same line.
  @Test func lateTasksOfBothKindsEnd() async throws {
    let transport = try CurlTransport(TransportOptions(userAgent: "dlm-test"))
    let late = Late(transport.serialExecutor)
    await transport.shutdown()
    let inside = Entered()
    await withTaskGroup { group in
      for _ in 0..<200 {
        group.addTask(executorPreference: transport.taskExecutor) { await late.step(inside.inside) }
        group.addTask { await late.step(inside.inside) }
      }
    }
    #expect(await late.count == 400)
  }

  /// There was a place for one who waits: of two stops at once, the first waited for ever.
  @Test(.timeLimit(.minutes(hangMinutes)))
  func allThatWaitForTheEndAreTold() async throws {
    let poll = try EventPoll()
    let inbox = LoopInbox(poll.wakeup)
    await withTaskGroup { group in
      // Each runs at once, until it waits.
      for _ in 0..<3 { group.addImmediateTask { await inbox.stop() } }
      #expect(inbox.take().isStopping)
      _ = inbox.finish()
    }
    // And one that comes after it.
    await inbox.stop()
    withExtendedLifetime(poll) {}
  }

  @Test(.timeLimit(.minutes(hangMinutes)))
  func severalShutdownsAtOnce() async throws {
    for _ in 0..<20 {
      let transport = try CurlTransport(TransportOptions(userAgent: "dlm-test"))
      await withTaskGroup { group in
        for _ in 0..<4 { group.addTask { await transport.shutdown() } }
      }
    }
  }
}
