import DownloadModel
import Synchronization

/// The pause between frames: drawing takes at most a fiftieth of a core's time, and of a run that mostly waits a
/// fiftieth of what that takes, unless fewer than ten frames a second would do.
struct FramePace {
  private static let share = 50
  /// Slower, and it would seem to stand still.
  private static let longest = Duration.milliseconds(250)
  /// Slower, and what moves would jerk: a run that waits for its servers has a core left to draw with.
  private static let smooth = Duration.milliseconds(100)

  private let interval: Duration
  private(set) var pause: Duration
  private var last: (now: Duration, process: Duration)?
  /// How many cores the process keeps busy: a mean in which the last frames count most.
  private(set) var busy = 1.0

  /// - Parameter interval: the pause where drawing costs nothing.
  init(_ interval: Duration, first: Duration) {
    self.interval = interval
    pause = first
  }

  /// Takes the times at the start and the end of a frame, read by the thread that drew it.
  mutating func take(_ start: ProcessorTime, _ end: ProcessorTime, at now: Duration) {
    if let last, now > last.now { busy += ((end.process - last.process) / (now - last.now) - busy) / 4 }
    last = (now, end.process)
    pause = Self.pause(interval, after: end.drawing - start.drawing, busy: busy)
  }

  /// - Parameter cost: the time that the last frame took the processor.
  static func pause(_ interval: Duration, after cost: Duration, busy: Double) -> Duration {
    let ofCore = cost * share
    return max(interval, min(ofCore, longest), min(ofCore / max(busy, 0.001), smooth))
  }
}
