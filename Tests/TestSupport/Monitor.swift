import DownloadModel
import Dispatch
import Foundation
import Glibc
import Synchronization

/// State behind one lock, with waiting for a condition on it (Hoare's monitor), for threads and for tasks.
///
/// `NSCondition` is the lock; the mutex inside it is never contended and is there so that the compiler, too,
/// sees that nobody reaches the state without locking. ThreadSanitizer understands the former only.
package final class Monitor<State: Sendable>: Sendable {
  private struct Waiter {
    let isMet: @Sendable (State) -> Bool
    let continuation: CheckedContinuation<Result<Void, SupportFailure>, Never>
  }

  private struct Guarded {
    var state: State
    var waiters: [Int: Waiter] = [:]
    /// Waits that were cancelled before they began.
    var cancelled: Set<Int> = []
    var nextWaiter = 0
  }

  private let condition = NSCondition()
  private let guarded: Lock<Guarded>

  package init(_ state: State) { guarded = Lock(Guarded(state: state)) }

  /// Reads or changes the state, then wakes whoever waited for what it has become.
  /// - Parameter body: runs under the lock, so it must not call this monitor.
  @discardableResult
  package func withState<Value: Sendable>(_ body: (inout State) -> Value) -> Value {
    let (value, ready) = locked { guarded -> (Value, [Waiter]) in
      let value = body(&guarded.state)
      let ready = guarded.waiters.filter { $0.value.isMet(guarded.state) }
      for id in ready.keys { guarded.waiters[id] = nil }
      return (value, Array(ready.values))
    }
    for waiter in ready { waiter.continuation.resume(returning: .success(())) }
    return value
  }

  /// Blocks the calling thread; not for tasks.
  /// - Parameter deadline: nil waits without end.
  /// - Returns: whether the condition was met before `deadline`.
  func block(until isMet: (State) -> Bool, before deadline: Date? = nil) -> Bool {
    condition.lock()
    defer { condition.unlock() }
    while !guarded.withLock({ isMet($0.state) }) {
      guard let deadline else {
        condition.wait()
        continue
      }
      if !condition.wait(until: deadline) { return guarded.withLock { isMet($0.state) } }
    }
    return true
  }

  /// Suspends the task until the condition is met.
  /// - Parameters:
  ///   - what: said in the failure.
  ///   - limit: only a safety net against hanging for ever, so it is generous.
  /// - Throws: when the limit has passed or the task is cancelled.
  package func wait(
    for what: String, within limit: Duration = safetyLimit, until isMet: @escaping @Sendable (State) -> Bool
  ) async throws(SupportFailure) {
    let id = locked { guarded in
      guarded.nextWaiter += 1
      return guarded.nextWaiter
    }
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        enlist(id, Waiter(isMet: isMet, continuation: continuation), what, limit)
      }
    } onCancel: {
      finish(id, SupportFailure("cancelled while waiting for \(what)"), rememberIfAbsent: true)
    }
    locked { _ = $0.cancelled.remove(id) }
    try result.get()
  }

  private func enlist(_ id: Int, _ waiter: Waiter, _ what: String, _ limit: Duration) {
    let atOnce = locked { guarded -> Result<Void, SupportFailure>? in
      if guarded.cancelled.contains(id) {
        return .failure(SupportFailure("cancelled before waiting for \(what)"))
      }
      if waiter.isMet(guarded.state) { return .success(()) }
      guarded.waiters[id] = waiter
      return nil
    }
    if let atOnce { return waiter.continuation.resume(returning: atOnce) }
    DispatchQueue.global().asyncAfter(deadline: .now() + limit.inSeconds) { [weak self] in
      self?.finish(id, SupportFailure("waited \(limit) in vain for \(what)"), rememberIfAbsent: false)
    }
  }

  private func finish(_ id: Int, _ failure: SupportFailure, rememberIfAbsent: Bool) {
    let waiter = locked { guarded -> Waiter? in
      if let waiter = guarded.waiters.removeValue(forKey: id) { return waiter }
      if rememberIfAbsent { guarded.cancelled.insert(id) }
      return nil
    }
    waiter?.continuation.resume(returning: .failure(failure))
  }

  private func locked<Value: Sendable>(_ body: (inout Guarded) -> Value) -> Value {
    condition.lock()
    defer { condition.unlock() }
    let value = guarded.withLock { body(&$0) }
    condition.broadcast()
    return value
  }
}

/// How long a test waits for an event before it is called a failure. Never the measure of anything.
package let safetyLimit = Duration.seconds(300)

/// The time limit of tests that would hang if they failed: a limit of one minute measured how busy the machine was.
package let hangMinutes = 30

extension Duration {
  var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}

/// Why the test support itself could not do its part: never a verdict on the code under test.
package struct SupportFailure: Error, Equatable, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }

  /// A failed system call, with errno's words.
  static func systemCall(_ name: String, errno code: Int32) -> SupportFailure {
    SupportFailure("\(name) failed: \(String(cString: strerror(code)))")
  }
}
