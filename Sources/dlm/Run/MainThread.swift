import Dispatch
import DownloadModel
import Synchronization

/// Runs the program's tasks on its main thread, which has nothing else to do: each further thread costs a start, and
/// memory that the allocator keeps for it. What may block has a thread of its own (`BlockingExecutor`), and what takes
/// long leaves this one, which serves signals meanwhile.
final class MainThread: TaskExecutor {
  private let jobs = Lock<[UnownedJob]>([])
  private let hasJobs = DispatchSemaphore(value: 0)

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let isFirst = jobs.withLock { jobs in
      jobs.append(job)
      return jobs.count == 1
    }
    if isFirst { hasJobs.signal() }
  }

  /// Does long work on the cooperative pool.
  static func leave<Value, Failure>(
    _ work: () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    try await withTaskExecutorPreference(globalConcurrentExecutor, operation: work)
  }

  /// Must be called on the main thread.
  func run() -> Never {
    while true {
      hasJobs.wait()
      let ready = jobs.withLock { jobs in
        defer { jobs = [] }
        return jobs
      }
      for job in ready { job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
  }
}
