import DownloadModel
import Synchronization
import TestSupport
import Testing

@testable import DownloadScheduling

@Suite("Time since a moment, on any clock")
struct StopwatchTests {
  /// A clock on which a second passes whenever it is read, as if every thread were held up there.
  private final class SlowClock: Clock {
    private let manual = ManualClock()
    private let deadline = Lock<Duration?>(nil)
    /// What the last sleep was to last until.
    var sleptUntil: Duration? { deadline.withLock { $0 } }

    var now: ManualClock.Instant {
      manual.advance(by: .seconds(1))
      return manual.now
    }
    var minimumResolution: Duration { manual.minimumResolution }

    func sleep(until instant: ManualClock.Instant, tolerance: Duration?) async throws {
      deadline.withLock { $0 = instant.offset }
    }
  }

  /// A lane computed its pause, was held up while the test moved the clock, and then slept for all of the
  /// pause: for ever, since nobody moved the clock again.
  @Test func aSleepEndsAtItsMoment() async throws {
    let clock = SlowClock()
    let stopwatch = Stopwatch(clock)
    _ = stopwatch.elapsed()
    try await stopwatch.sleepUntil(.seconds(10))
    #expect(clock.sleptUntil == .seconds(11), "it was made at the first second")
  }
}
