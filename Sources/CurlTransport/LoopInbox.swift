import Synchronization

/// What other threads hand to a loop's thread: jobs, cancellations, how many connections to keep, the wish to stop. Whoever puts something in
/// rings the alarm only when the thread waits (or is about to), so a busy loop costs them no system call.
final class LoopInbox: Sendable {
  private let alarm: EventPoll.Alarm
  private let state = Mutex(State())

  private struct State {
    var jobs: [LoopJob] = []
    var cancelled: [TransferID] = []
    var quotas: [ConnectionQuota] = []
    var isWaiting = false
    var isStopping = false
    var hasStopped = false
    /// All that wait for the end: two may ask for it at once.
    var whenStopped: [CheckedContinuation<Void, Never>] = []
  }

  init(_ alarm: EventPoll.Alarm) { self.alarm = alarm }

  /// - Returns: false when the thread has ended: the job is the caller's again.
  func put(_ job: LoopJob) -> Bool {
    change { state in
      if state.hasStopped { return false }
      state.jobs.append(job)
      return true
    }
  }

  func cancel(_ id: TransferID) { change { $0.cancelled.append(id) } }

  func keep(_ quota: ConnectionQuota) { change { $0.quotas.append(quota) } }

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

  /// How many wait for the thread's end.
  var waitingForStop: Int { state.withLock { $0.whenStopped.count } }

  private func change<Value: Sendable>(_ body: (inout sending State) -> Value) -> Value {
    let (value, mustRing) = state.withLock { state in
      let value = body(&state)
      let mustRing = state.isWaiting
      state.isWaiting = false
      return (value, mustRing)
    }
    if mustRing { alarm.ring() }
    return value
  }

  // MARK: On the loop's thread

  struct Delivery {
    var jobs: [LoopJob]
    var cancelled: [TransferID]
    var quotas: [ConnectionQuota]
    var isStopping: Bool
  }

  func take() -> Delivery {
    state.withLock { state in
      defer { (state.jobs, state.cancelled, state.quotas, state.isWaiting) = ([], [], [], false) }
      return Delivery(
        jobs: state.jobs, cancelled: state.cancelled, quotas: state.quotas, isStopping: state.isStopping)
    }
  }

  /// Announces a wait: from here on, whoever puts something in rings.
  /// - Returns: false when there is something in it already.
  func mayWait() -> Bool {
    state.withLock { state in
      state.isWaiting =
        state.jobs.isEmpty && state.cancelled.isEmpty && state.quotas.isEmpty && !state.isStopping
      return state.isWaiting
    }
  }

  /// The thread ends: jobs are refused from here on.
  /// - Returns: those that came at the last moment.
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

/// How many connections to a host a loop may have, idle ones included; nil for as many as are wanted.
struct ConnectionQuota: Sendable {
  var host: String
  var count: Int?
}
