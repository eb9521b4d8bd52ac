import Dispatch

/// Like a network loop: runs one job after the other, and knows whether the caller is one of them.
final class TestLoop: SerialExecutor {
  private let queue = DispatchQueue(label: "test.loop")
  private static let loop = DispatchSpecificKey<ObjectIdentifier>()

  init() { queue.setSpecific(key: Self.loop, value: ObjectIdentifier(self)) }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }

  func isIsolatingCurrentContext() -> Bool? { DispatchQueue.getSpecific(key: Self.loop) == ObjectIdentifier(self) }
}
