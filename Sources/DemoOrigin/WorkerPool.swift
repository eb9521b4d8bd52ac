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
    /// In the order in which they came; each has its number, by which a cancelled one is found.
    var waiting: [(number: Int, continuation: CheckedContinuation<Bool, Never>)] = []
    var lastNumber = 0
  }

  private let state: Mutex<State>

  /// - Parameter count: less than 1 counts as 1.
  init(_ count: Int) { state = Mutex(State(free: max(1, count))) }

  /// How many wait for a worker now.
  var waitingCount: Int { state.withLock { $0.waiting.count } }

  /// Waits for a free worker.
  /// - Returns: nil if the task is cancelled while it waits, or was before.
  func take() async -> Worker? {
    let number = state.withLock { state in
      state.lastNumber += 1
      return state.lastNumber
    }
    let isMine = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let answer: Bool? = state.withLock { state in
          // Cancelled before: the handler has been here and found nobody.
          if Task.isCancelled { return false }
          guard state.free == 0 else {
            state.free -= 1
            return true
          }
          state.waiting.append((number, continuation))
          return nil
        }
        if let answer { continuation.resume(returning: answer) }
      }
    } onCancel: {
      state.withLock { state in
        state.waiting.firstIndex { $0.number == number }.map { state.waiting.remove(at: $0).continuation }
      }?.resume(returning: false)
    }
    return isMine ? Worker(self) : nil
  }

  private func release() {
    state.withLock { state -> CheckedContinuation<Bool, Never>? in
      if state.waiting.isEmpty {
        state.free += 1
        return nil
      }
      return state.waiting.removeFirst().continuation
    }?.resume(returning: true)
  }
}
