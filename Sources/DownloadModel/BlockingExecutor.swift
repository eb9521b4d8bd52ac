import Dispatch

/// A serial executor for work that blocks on the disk or a pipe, such as a database or a list on standard input: its
/// actors never hold up the cooperative pool, a curl loop or the renderer.
public final class BlockingExecutor: SerialExecutor {
  private let queue: DispatchQueue

  public init(label: String) { queue = DispatchQueue(label: label) }

  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }
}
