import DownloadModel
import Synchronization

/// A clock that stops while its run is paused, and with it every backoff, cooldown and measured rate.
package final class PausableClock: Clock, Sendable {
  private struct State {
    /// The total of all finished pauses.
    var paused = Duration.zero
    var since: ContinuousClock.Instant?
  }

  private let base = ContinuousClock()
  private let state = Lock(State())
  /// Without a pause, reading the clock takes no lock.
  private let hasPaused = Atomic(false)
  /// How often a sleeper checks whether the run is still paused.
  private static let lookInterval = Duration.milliseconds(50)

  package init() {}

  package var minimumResolution: Duration { base.minimumResolution }

  /// That of `ContinuousClock`, less all pauses.
  package var now: ContinuousClock.Instant {
    let now = base.now
    guard hasPaused.load(ordering: .acquiring) else { return now }
    return state.withLock { ($0.since ?? now) - $0.paused }
  }

  package func pause(_ isPaused: Bool) {
    hasPaused.store(true, ordering: .releasing)
    state.withLock { state in
      if isPaused {
        state.since = state.since ?? base.now
      } else if let since = state.since.take() {
        state.paused += base.now - since
      }
    }
  }

  private var isPaused: Bool { hasPaused.load(ordering: .acquiring) && state.withLock { $0.since != nil } }

  package func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
    while true {
      let left = deadline - now
      guard left > .zero else { return }
      try await base.sleep(until: base.now + (isPaused ? Self.lookInterval : left), tolerance: tolerance)
    }
  }
}
