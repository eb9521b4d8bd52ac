/// How long to wait for the next frame. What is watched must not slow down what is done: drawing takes at
/// most a fiftieth of a core's time, and a run of a thousand files in a large window has fewer frames.
enum FramePace {
  private static let share = 50
  /// Slower, and it would seem to stand still.
  private static let longest = Duration.milliseconds(250)

  /// - Parameters:
  ///   - interval: the display's own.
  ///   - cost: the time that the last frame took the processor.
  static func pause(_ interval: Duration, after cost: Duration) -> Duration {
    max(interval, min(cost * share, longest))
  }
}
