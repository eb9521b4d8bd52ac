import Synchronization

/// A number of workers, each of which answers one request at a time, in the order in which they came: a
/// server with few of them, as a prefork one has.
final class WorkerPool: Sendable {
  /// A worker that is busy until the last reference to this is gone.
  final class Worker: Sendable {
    private let pool: WorkerPool
    fileprivate init(_ pool: WorkerPool) { self.pool = pool }
    deinit { pool.release() }
  }

  private struct State {
    var free: Int
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state: Mutex<State>

  /// - Parameter count: less than 1 counts as 1.
  init(_ count: Int) { state = Mutex(State(free: max(1, count))) }

  /// Waits for a free worker.
  ///
  /// A cancelled request waits too: it ends when its turn comes, which is soon, as all others are cancelled
  /// with it when the origin stops.
  func take() async -> Worker {
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        guard state.free == 0 else {
          state.free -= 1
          return true
        }
        state.waiting.append(continuation)
        return false
      }
      if isFree { continuation.resume() }
    }
    return Worker(self)
  }

  private func release() {
    state.withLock { state -> CheckedContinuation<Void, Never>? in
      if state.waiting.isEmpty {
        state.free += 1
        return nil
      }
      return state.waiting.removeFirst()
    }?.resume()
  }
}
