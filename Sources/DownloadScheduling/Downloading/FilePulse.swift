import Synchronization

/// The beat at which all large files of a run are looked at that need not be watched closely.
///
/// A thousand timers that end together cost a few changes of threads, where each took several when it ended by itself:
/// they were three quarters of what a thousand slow files cost the processor. And the more files there are, the slower
/// it beats, so that looking at them costs the same: what they wait for is that one of them ends.
final class FilePulse: Sendable {
  private let stopwatch: Stopwatch
  private let files = Atomic<Int>(0)

  private static let shortest = Duration.milliseconds(250)
  /// How many files are looked at in the shortest time.
  private static let many = 64

  init(_ clock: any Clock<Duration>) { stopwatch = Stopwatch(clock) }

  /// A file begins to be looked at.
  func enter() { files.wrappingAdd(1, ordering: .relaxed) }
  func leave() { files.wrappingSubtract(1, ordering: .relaxed) }

  /// Returns at the next beat, or when the task is cancelled.
  func next() async {
    let now = stopwatch.elapsed()
    // A clock's sleep ends early only for a cancelled task.
    try? await stopwatch.sleep(until: Self.beat(after: now, files: files.load(ordering: .relaxed)))
  }

  /// - Parameters:
  ///   - time: of the run.
  ///   - files: how many are looked at.
  static func beat(after time: Duration, files: Int) -> Duration {
    let beat = shortest * max(1, (files + many - 1) / many)
    // Half a beat at the least, so that two looks never follow each other at once.
    return beat * Int((time + beat / 2) / beat + 1)
  }
}
