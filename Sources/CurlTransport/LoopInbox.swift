import DownloadModel
import Synchronization

/// What other threads pass to a loop's thread: jobs, cancellations, connection permits, the request to stop. A thread
/// that adds something wakes the loop only if the loop waits or is about to, so a busy loop costs no system call.
final class LoopInbox: Sendable {
  struct Mail {
    var jobs: [LoopJob] = []
    var cancelled: [Cancellation] = []
    var permits: [ConnectionLimit] = []
    var isHeld = false
    var isStopping = false

    var isEmpty: Bool { jobs.isEmpty && cancelled.isEmpty && permits.isEmpty && !isStopping }
  }

  private struct State {
    var mail = Mail()
    var isWaiting = false
    var hasEnded = false
  }

  private let wakeup: EventPoll.Wakeup
  private let state = Lock(State())
  private let hasEndedForAll = Waiters(false)

  init(_ wakeup: EventPoll.Wakeup) { self.wakeup = wakeup }

  /// - Returns: false when the thread has ended: then the caller still has the job.
  func put(_ job: LoopJob) -> Bool {
    change { state in
      if !state.hasEnded { state.mail.jobs.append(job) }
      return !state.hasEnded
    }
  }

  func cancel(_ cancellation: Cancellation) { change { $0.mail.cancelled.append(cancellation) } }

  func keep(_ permits: ConnectionLimit) { change { $0.mail.permits.append(permits) } }

  /// Held, the sockets are not read. libcurl's own pause loses data on HTTP/2 before 8.4.
  func hold(_ isHeld: Bool) { change { $0.mail.isHeld = isHeld } }

  /// Ends the thread once its jobs are done, and returns then. The agent must have released its transfers before.
  func stop() async {
    change { $0.mail.isStopping = true }
    await hasEndedForAll.wait({ $0 ? () : nil }, onCancel: {})
  }

  var hasEnded: Bool { state.withLock { $0.hasEnded } }

  private func change<Value: Sendable>(_ body: (inout sending State) -> Value) -> Value {
    let (value, mustWake) = state.withLock { state in
      let value = body(&state)
      let mustWake = state.isWaiting
      state.isWaiting = false
      return (value, mustWake)
    }
    if mustWake { wakeup.wake() }
    return value
  }

  // MARK: On the loop's thread

  func take() -> Mail {
    state.withLock { state in
      let mail = state.mail
      state.mail = Mail(isHeld: mail.isHeld, isStopping: mail.isStopping)
      state.isWaiting = false
      return mail
    }
  }

  /// Announces a wait: from here on, anything added wakes the loop.
  /// - Returns: false if there is something to take, or transfers are to be held that are not, or the other way round.
  func mayWait(isHeld: Bool) -> Bool {
    state.withLock { state in
      state.isWaiting = state.mail.isEmpty && state.mail.isHeld == isHeld
      return state.isWaiting
    }
  }

  /// From here on jobs are refused; gives those that came at the last moment.
  func finish() -> [LoopJob] {
    let late = state.withLock { state in
      defer { state.mail.jobs = [] }
      state.hasEnded = true
      return state.mail.jobs
    }
    hasEndedForAll.withLock { $0 = true }
    return late
  }
}

/// How many connections to a host a loop may have, idle ones included; nil for no limit.
typealias ConnectionLimit = (host: String, count: Int?)

enum LoopJob: Sendable {
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
