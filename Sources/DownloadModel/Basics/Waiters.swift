import Synchronization

/// A value behind a lock, and the tasks that wait until it can answer them (Hoare's monitor). A wait is a closure that
/// takes an answer from the value, or returns `nil`. It runs under the lock, at once and then after each change, in the
/// order in which the tasks started to wait. Each task resumes once, with its answer or because it was cancelled. Not
/// an actor: the value is often changed by a loop's thread, which must not wait.
package final class Waiters<Value: Sendable>: Sendable {
  private typealias Resume = @Sendable () -> Void
  /// Returns a closure that resumes the task with its answer; `nil` until there is an answer.
  private typealias Waiter = @Sendable (inout Value) -> Resume?

  private struct Guarded {
    var value: Value
    var waiting: [Waiter] = []

    /// Runs the waiters from a position on. An answer that one takes may let an earlier one continue.
    mutating func takeReady(from place: Int = 0) -> [Resume] {
      var place = place
      var ready = [Resume]()
      while place < waiting.count {
        if let resume = waiting[place](&value) {
          waiting.remove(at: place)
          ready.append(resume)
          place = 0
        } else {
          place += 1
        }
      }
      return ready
    }
  }

  private let guarded: Lock<Guarded>

  package init(_ value: Value) { guarded = Lock(Guarded(value: value)) }

  /// Reads or changes the value; then resumes the tasks that have an answer.
  /// - Parameter body: runs under the lock, so it must neither block nor use these waiters.
  package func withLock<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
    let (result, ready) = guarded.withLock { guarded in
      let result = body(&guarded.value)
      return (result, guarded.takeReady())
    }
    for resume in ready { resume() }
    return result
  }

  /// Suspends until the value has an answer, or the task is cancelled.
  /// - Parameter take: like the body of `withLock`; must change nothing if it returns `nil`.
  /// - Returns: `nil` for a cancelled task, which has taken nothing.
  package nonisolated(nonsending) func wait<Answer: Sendable>(
    _ take: @escaping @Sendable (inout Value) -> Answer?
  ) async -> Answer? {
    let cancellation = Cancellation()
    return await wait { value -> Answer?? in
      cancellation.hasCome.load(ordering: .relaxed) ? .some(nil) : take(&value).map { .some($0) }
    } onCancel: {
      // Under the lock, so that the waiter either runs later or is found here.
      withLock { _ in cancellation.hasCome.store(true, ordering: .relaxed) }
    }
  }

  /// Suspends until the value has an answer, also in a cancelled task.
  /// - Parameter onCancel: called once if the task is cancelled, outside the lock; may provide an answer.
  package nonisolated(nonsending) func wait<Answer: Sendable>(
    _ take: @escaping @Sendable (inout Value) -> Answer?, onCancel: @Sendable () -> Void
  ) async -> Answer {
    if !Task.isCancelled, let answer = withLock(take) { return answer }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        enlist { take(&$0).map { answer in { @Sendable in continuation.resume(returning: answer) } } }
      }
    } onCancel: {
      onCancel()
    }
  }

  private func enlist(_ waiter: @escaping Waiter) {
    let ready = guarded.withLock { guarded in
      guarded.waiting.append(waiter)
      return guarded.takeReady(from: guarded.waiting.count - 1)
    }
    for resume in ready { resume() }
  }
}

/// Read and written under the lock.
private final class Cancellation: Sendable { let hasCome = Atomic(false) }
