import DownloadModel
import Synchronization

/// What other threads pass to a loop's thread: jobs, cancellations, connection permits, the request to stop. A thread
/// that adds something wakes the loop only if the loop waits or is about to, so a busy loop costs no system call.
final class LoopInbox: Sendable {
  private let wakeup: EventPoll.Wakeup
  private let state = Lock(State())

  private struct State {
    var jobs: [LoopJob] = []
    var cancelled: [Cancellation] = []
    var permits: [ConnectionLimit] = []
    var isWaiting = false
    var isHeld = false
    var isStopping = false
    var hasStopped = false
    /// The tasks that wait for the end: two may do so at once.
    var whenStopped: [CheckedContinuation<Void, Never>] = []
  }

  init(_ wakeup: EventPoll.Wakeup) { self.wakeup = wakeup }

  /// - Returns: false when the thread has ended: then the caller still has the job.
  func put(_ job: LoopJob) -> Bool {
    change { state in
      if state.hasStopped { return false }
      state.jobs.append(job)
      return true
    }
  }

  func cancel(_ cancellation: Cancellation) { change { $0.cancelled.append(cancellation) } }

  func keep(_ permits: ConnectionLimit) { change { $0.permits.append(permits) } }

  func hold(_ isHeld: Bool) { change { $0.isHeld = isHeld } }

  /// Returns once the thread has ended.
  func stop() async {
    await withCheckedContinuation { continuation in
      let hasStopped = change { state in
        state.isStopping = true
        if !state.hasStopped { state.whenStopped.append(continuation) }
        return state.hasStopped
      }
      if hasStopped { continuation.resume() }
    }
  }

  /// Whether the thread has ended.
  var hasEnded: Bool { state.withLock { $0.hasStopped } }

  /// How many tasks wait for the thread's end.
  var waitingForStop: Int { state.withLock { $0.whenStopped.count } }

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

  struct Delivery {
    var jobs: [LoopJob]
    var cancelled: [Cancellation]
    var permits: [ConnectionLimit]
    /// Whether transfers are to be left alone.
    var isHeld: Bool
    var isStopping: Bool
  }

  func take() -> Delivery {
    state.withLock { state in
      defer { (state.jobs, state.cancelled, state.permits, state.isWaiting) = ([], [], [], false) }
      return Delivery(
        jobs: state.jobs, cancelled: state.cancelled, permits: state.permits, isHeld: state.isHeld,
        isStopping: state.isStopping)
    }
  }

  /// Announces a wait: from here on, anything added wakes the loop.
  /// - Parameter isHeld: whether transfers are held, as the thread knows it.
  /// - Returns: false if the inbox is not empty.
  func mayWait(isHeld: Bool) -> Bool {
    state.withLock { state in
      state.isWaiting =
        state.jobs.isEmpty && state.cancelled.isEmpty && state.permits.isEmpty && !state.isStopping
        && state.isHeld == isHeld
      return state.isWaiting
    }
  }

  /// Ends the inbox: from here on it refuses jobs.
  /// - Returns: the jobs that came at the last moment.
  func finish() -> [LoopJob] {
    let (late, waiting) = state.withLock { state in
      state.hasStopped = true
      defer { (state.jobs, state.whenStopped) = ([], []) }
      return (state.jobs, state.whenStopped)
    }
    for continuation in waiting { continuation.resume() }
    return late
  }
}

/// How many connections to a host a loop may have, idle ones included; nil for no limit.
struct ConnectionLimit: Sendable {
  var host: String
  var count: Int?
}

/// Something to run on a loop's thread.
enum LoopJob: Sendable {
  /// A job of a task that is isolated on the loop.
  case isolated(UnownedJob)
  /// A job of a task that has no isolation and prefers the executor.
  case free(UnownedJob, UnownedTaskExecutor)

  /// - Parameter preferred: the preference of tasks isolated on the loop, if they have one.
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
