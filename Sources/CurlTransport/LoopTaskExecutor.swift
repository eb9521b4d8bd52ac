/// Runs whole tasks on a loop's thread, those parts too that are in nobody's isolation (SE-0417).
///
/// A type of its own, so that the loop can tell Swift truly where a job runs. Told otherwise, Swift takes the task
/// to be on the wrong executor and moves it by one more job at each of its steps.
final class LoopTaskExecutor: TaskExecutor {
  private let loop: CurlLoop

  init(_ loop: CurlLoop) { self.loop = loop }

  func enqueue(_ job: consuming ExecutorJob) {
    loop.enqueue(.free(UnownedJob(job), asUnownedTaskExecutor()))
  }

  func asUnownedTaskExecutor() -> UnownedTaskExecutor { UnownedTaskExecutor(ordinary: self) }
}

/// Something to run on a loop's thread.
enum LoopJob: Sendable {
  /// Of a task that is isolated on the loop now.
  case isolated(UnownedJob)
  /// Of a task that is in nobody's isolation and prefers the executor.
  case free(UnownedJob, UnownedTaskExecutor)

  /// - Parameter preferred: what the tasks isolated on the loop prefer, if they prefer anything.
  func run(serial: UnownedSerialExecutor, preferred: UnownedTaskExecutor?) {
    switch self {
    case .free(let job, let executor): job.runSynchronously(on: executor)
    case .isolated(let job):
      if let preferred {
        job.runSynchronously(isolatedTo: serial, taskExecutor: preferred)
      } else {
        job.runSynchronously(on: serial)
      }
    }
  }
}
