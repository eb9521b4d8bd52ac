/// A clock that stands still until the test moves it: sleepers wake on `advance(by:)` and at no other time.
package final class ManualClock: Clock {
  package struct Instant: InstantProtocol {
    /// Time since the clock was made.
    package let offset: Duration

    package func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    package func duration(to other: Instant) -> Duration { other.offset - offset }
    package static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
  }

  private struct Sleeper: Sendable {
    let deadline: Instant
    let continuation: CheckedContinuation<Bool, Never>
  }

  private struct State {
    var now = Instant(offset: .zero)
    var sleepers: [Int: Sleeper] = [:]
    var requested: [Duration] = []
    /// Sleeps that were cancelled before they began.
    var cancelled: Set<Int> = []
    var nextSleeper = 0
  }

  private let monitor = Monitor(State())

  package init() {}

  package var now: Instant { monitor.withState { $0.now } }
  package let minimumResolution = Duration.nanoseconds(1)

  /// Every sleep that was asked for, in order: what a backoff rule has decided.
  package var requestedSleeps: [Duration] { monitor.withState { $0.requested } }

  /// Moves the time and wakes whoever sleeps until then, the earliest first.
  package func advance(by duration: Duration) {
    let due = monitor.withState { state in
      state.now = state.now.advanced(by: duration)
      let due = state.sleepers.filter { $0.value.deadline <= state.now }
      for id in due.keys { state.sleepers[id] = nil }
      return due.sorted { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) }.map(\.value)
    }
    for sleeper in due { sleeper.continuation.resume(returning: true) }
  }

  /// Moves the time to the deadline of the earliest sleeper and waits until one sleeps again: by then, a task
  /// that sleeps once a round has done its round.
  /// - Throws: as `waitForSleepers` does.
  package func step() async throws(SupportFailure) {
    try await waitForSleepers(1)
    let next = monitor.withState { state in
      state.sleepers.values.map(\.deadline).min().map { state.now.duration(to: $0) }
    }
    if let next { advance(by: next) }
    try await waitForSleepers(1)
  }

  /// Suspends until at least so many tasks sleep on this clock.
  /// - Throws: after a long safety limit, or when the task is cancelled.
  package func waitForSleepers(_ count: Int) async throws(SupportFailure) {
    try await monitor.wait(for: "\(count) sleepers") { $0.sleepers.count >= count }
  }

  /// - Throws: `CancellationError`, at once, when the task is cancelled.
  package func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
    let id = monitor.withState { state in
      state.requested.append(state.now.duration(to: deadline))
      state.nextSleeper += 1
      return state.nextSleeper
    }
    let slept = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        enlist(id, Sleeper(deadline: deadline, continuation: continuation))
      }
    } onCancel: {
      cancel(id)
    }
    monitor.withState { _ = $0.cancelled.remove(id) }
    if !slept { throw CancellationError() }
  }

  private func enlist(_ id: Int, _ sleeper: Sleeper) {
    let atOnce = monitor.withState { state -> Bool? in
      if state.cancelled.contains(id) { return false }
      if sleeper.deadline <= state.now { return true }
      state.sleepers[id] = sleeper
      return nil
    }
    if let atOnce { sleeper.continuation.resume(returning: atOnce) }
  }

  private func cancel(_ id: Int) {
    let sleeper = monitor.withState { state -> Sleeper? in
      if let sleeper = state.sleepers.removeValue(forKey: id) { return sleeper }
      state.cancelled.insert(id)
      return nil
    }
    sleeper?.continuation.resume(returning: false)
  }
}
