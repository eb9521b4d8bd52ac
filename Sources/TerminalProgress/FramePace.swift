/// What has been had of the processor so far.
public struct ProcessorTime: Sendable {
  /// By the thread that draws.
  public var drawing: Duration
  /// By all threads of the process.
  public var process: Duration

  public init(drawing: Duration, process: Duration) { (self.drawing, self.process) = (drawing, process) }
}

/// How long to wait for the next frame. What is watched must not slow down what is done: drawing takes at most a
/// fiftieth of a core's time, and of a run that mostly waits a fiftieth of what that takes, unless fewer than ten
/// frames a second would do. A run of a thousand files in a large window so has fewer frames.
struct FramePace {
  private static let share = 50
  /// Slower, and it would seem to stand still.
  private static let longest = Duration.milliseconds(250)
  /// Slower, and what moves would jerk: a run that waits for its servers has a core left to draw with.
  private static let smooth = Duration.milliseconds(100)

  private var last: (now: Duration, process: Duration)?
  /// How many cores the process keeps busy: a mean in which the last frames count most.
  private(set) var busy = 1.0

  /// Takes what a frame cost.
  /// - Parameters:
  ///   - interval: the display's own.
  ///   - now: since the start of the run, on a monotonic clock.
  ///   - times: at the start of the frame and at its end, read by the thread that drew it.
  /// - Returns: the pause that follows.
  mutating func pause(
    _ interval: Duration, at now: Duration, after times: (start: ProcessorTime, end: ProcessorTime)
  ) -> Duration {
    if let last, now > last.now {
      busy += ((times.end.process - last.process) / (now - last.now) - busy) / 4
    }
    last = (now, times.end.process)
    return Self.pause(interval, after: times.end.drawing - times.start.drawing, busy: busy)
  }

  /// - Parameters:
  ///   - interval: the display's own.
  ///   - cost: the time that the last frame took the processor.
  ///   - busy: how many cores the process keeps busy.
  static func pause(_ interval: Duration, after cost: Duration, busy: Double) -> Duration {
    let ofCore = cost * share
    let ofRun = ofCore / max(busy, 0.001)
    return max(interval, min(ofCore, longest), min(ofRun, smooth))
  }
}
