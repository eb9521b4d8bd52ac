import DownloadModel
import Synchronization

/// A clock that stops while its run is paused, and with it every backoff, cooldown and measured rate.
package final class PausableClock: Clock, Sendable {
  package struct Instant: InstantProtocol {
    /// Since the clock was made, without pauses.
    fileprivate var time: Duration

    package func advanced(by duration: Duration) -> Instant { Instant(time: time + duration) }
    package func duration(to other: Instant) -> Duration { other.time - time }
    package static func < (left: Instant, right: Instant) -> Bool { left.time < right.time }
  }

  private struct State {
    /// The total of all finished pauses.
    var paused = Duration.zero
    var since: ContinuousClock.Instant?
  }

  private let base = ContinuousClock()
  private let start: ContinuousClock.Instant
  private let state = Lock(State())
  /// Without a pause, reading the clock takes no lock.
  private let hasPaused = Atomic(false)
  /// How often a sleeper checks whether the run is still paused.
  private static let lookInterval = Duration.milliseconds(50)

  package init() { start = base.now }

  package var minimumResolution: Duration { base.minimumResolution }

  package var now: Instant {
    let elapsed = start.duration(to: base.now)
    guard hasPaused.load(ordering: .acquiring) else { return Instant(time: elapsed) }
    return state.withLock { state in
      let until = state.since.map { start.duration(to: $0) } ?? elapsed
      return Instant(time: until - state.paused)
    }
  }

  package func pause(_ isPaused: Bool) {
    hasPaused.store(true, ordering: .releasing)
    state.withLock { state in
      if isPaused {
        state.since = state.since ?? base.now
      } else if let since = state.since.take() {
        state.paused += since.duration(to: base.now)
      }
    }
  }

  private var isPaused: Bool { hasPaused.load(ordering: .acquiring) && state.withLock { $0.since != nil } }

  package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    while true {
      let left = now.duration(to: deadline)
      guard left > .zero else { return }
      try await base.sleep(until: base.now.advanced(by: isPaused ? Self.lookInterval : left), tolerance: tolerance)
    }
  }
}
