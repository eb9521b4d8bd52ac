import Synchronization

/// A clock that stands still until a test moves it, from one sleeper's deadline to the next.
final class StepClock: Clock {
  typealias Duration = Swift.Duration

  struct Instant: InstantProtocol {
    typealias Duration = Swift.Duration
    var offset = Duration.zero
    func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    func duration(to other: Instant) -> Duration { other.offset - offset }
    static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
  }

  private struct State {
    var now = Instant()
    var sleeper: (deadline: Instant, continuation: CheckedContinuation<Bool, Never>)?
    var isCancelled = false
    var observer: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())
  let minimumResolution = Duration.zero
  var now: Instant { state.withLock { $0.now } }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    let isWoken = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let (observer, isCancelled) = state.withLock { state in
          defer { state.observer = nil }
          if !state.isCancelled { state.sleeper = (deadline, continuation) }
          return (state.observer, state.isCancelled)
        }
        if isCancelled { continuation.resume(returning: false) }
        observer?.resume()
      }
    } onCancel: {
      let sleeper = state.withLock { state in
        defer { state.sleeper = nil }
        state.isCancelled = true
        return state.sleeper
      }
      sleeper?.continuation.resume(returning: false)
    }
    if !isWoken { throw CancellationError() }
  }

  /// Returns when someone sleeps: everything that the last step set off has then happened.
  func settled() async {
    await withCheckedContinuation { continuation in
      let isAsleep = state.withLock { state in
        if state.sleeper == nil { state.observer = continuation }
        return state.sleeper != nil
      }
      if isAsleep { continuation.resume() }
    }
  }

  /// Wakes the sleeper at its time and waits until it sleeps again.
  func step() async {
    await settled()
    let sleeper = state.withLock { state in
      defer { state.sleeper = nil }
      if let sleeper = state.sleeper { state.now = sleeper.deadline }
      return state.sleeper
    }
    sleeper?.continuation.resume(returning: true)
    await settled()
  }
}
