package import Dispatch

/// One thread for all tests that compute for seconds: on Swift's pool, which has as many threads as the
/// machine has processors, they would starve every test that waits for something to happen.
private let queue = DispatchQueue(label: "tests.computing", qos: .utility)

package func offThePool<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
  try await withCheckedThrowingContinuation { continuation in
    queue.async { continuation.resume(with: Result { try body() }) }
  }
}

/// Waits for a semaphore on another thread than those of Swift's pool, which may not wait.
package func wait(for semaphore: DispatchSemaphore) async {
  await withCheckedContinuation { continuation in
    DispatchQueue.global().async {
      semaphore.wait()
      continuation.resume()
    }
  }
}
