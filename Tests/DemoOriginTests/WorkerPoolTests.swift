import Synchronization
import TestSupport
import Testing

@testable import DemoOrigin

@Suite("Workers that answer one request at a time", .timeLimit(.minutes(5)))
struct WorkerPoolTests {
  private final class Counts: Sendable {
    private let state = Mutex((busy: 0, most: 0, done: 0))

    func begin() { state.withLock { ($0.busy, $0.most) = ($0.busy + 1, max($0.most, $0.busy + 1)) } }
    func end() { state.withLock { ($0.busy, $0.done) = ($0.busy - 1, $0.done + 1) } }
    var most: Int { state.withLock { $0.most } }
    var done: Int { state.withLock { $0.done } }
  }

  @Test("so many are busy at a time, and each request gets one", arguments: [1, 3, 8])
  func limit(count: Int) async {
    let (pool, counts) = (WorkerPool(count), Counts())
    await withTaskGroup { group in
      for _ in 0..<50 {
        group.addTask {
          let worker = await pool.take()
          counts.begin()
          await Task.yield()
          counts.end()
          withExtendedLifetime(worker) {}
        }
      }
    }
    #expect(counts.done == 50)
    #expect(counts.most <= count)
  }

  @Test("one that is dropped is free for the next, in the order in which they came")
  func order() async {
    let pool = WorkerPool(0)
    var first: WorkerPool.Worker? = await pool.take()
    #expect(first != nil)
    let next = Task { await pool.take() }
    first = nil
    _ = await next.value
    _ = await pool.take()
  }
}
