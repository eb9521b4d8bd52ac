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

  private final class Order: Sendable { let numbers = Mutex<[Int]>([]) }

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

  /// Who waits for the worker drops it: what a task returns lives as long as any handle of it, and a test that
  /// returned the worker from one waited for ever when the handle went late.
  @Test("one that is dropped is free for the next, in the order in which they came")
  func order() async {
    let pool = WorkerPool(0)
    let order = Order()
    var first = await pool.take()
    #expect(first != nil)
    await withTaskGroup { group in
      for number in 1...3 {
        group.addTask {
          let worker = await pool.take()
          order.numbers.withLock { $0.append(worker == nil ? 0 : number) }
        }
        await pool.waits(for: number)
      }
      first = nil
    }
    #expect(order.numbers.withLock { $0 } == [1, 2, 3])
    let last = await pool.take()
    #expect(last != nil)
  }

  @Test("one that waits and is cancelled goes without, and takes nobody's turn")
  func cancelled() async {
    let pool = WorkerPool(1)
    var first = await pool.take()
    #expect(first != nil)
    await withTaskGroup { group in
      for _ in 0..<3 { group.addTask { await pool.take() == nil } }
      await pool.waits(for: 3)
      group.cancelAll()
      for await hasNone in group { #expect(hasNone) }
      // Cancelled before it asks, a free worker or not.
      group.addTask { await pool.take() == nil }
      for await hasNone in group { #expect(hasNone) }
    }
    first = nil
    let next = await pool.take()
    #expect(next != nil)
  }
}

extension WorkerPool {
  /// Returns when so many wait.
  fileprivate func waits(for count: Int) async {
    while waitingCount < count, !Task.isCancelled { await Task.yield() }
  }
}
