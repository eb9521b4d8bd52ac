enum LoopJob {
  case isolated(UnownedJob)
  case free(UnownedJob, UnownedTaskExecutor)

  func run(serial: UnownedSerialExecutor, preferred: UnownedTaskExecutor?) {
    switch (self, preferred) {
    case (.free(let job, let executor), _): job.runSynchronously(on: executor)
    case (.isolated(let job), let preferred?): job.runSynchronously(isolatedTo: serial, taskExecutor: preferred)
    case (.isolated(let job), nil): job.runSynchronously(on: serial)
    }
  }
}
