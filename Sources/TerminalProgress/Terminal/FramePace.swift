import DownloadModel
import Synchronization

/// The pause between frames: drawing takes at most a fiftieth of a core's time, and in a run that mostly waits a
/// fiftieth of the run's CPU time, unless that means fewer than ten frames a second.
struct FramePace {
  private static let share = 50
  /// At a longer pause, the display would seem frozen.
  private static let longest = Duration.milliseconds(250)
  /// At a longer pause, motion would be jerky: a run that waits for its servers has a core left for drawing.
  private static let smooth = Duration.milliseconds(100)

  private let interval: Duration
  private(set) var pause: Duration
  private var last: (now: Duration, process: Duration)?
  /// The number of cores that the process keeps busy: a moving average.
  private(set) var busy = 1.0

  /// - Parameter interval: the pause if drawing costs nothing.
  init(_ interval: Duration, first: Duration) {
    self.interval = interval
    pause = first
  }

  /// Adds the times at the start and the end of a frame, read by the thread that drew it.
  mutating func take(_ start: ProcessorTime, _ end: ProcessorTime, at now: Duration) {
    if let last, now > last.now { busy += ((end.process - last.process) / (now - last.now) - busy) / 4 }
    last = (now, end.process)
    pause = Self.pause(interval, after: end.drawing - start.drawing, busy: busy)
  }

  /// - Parameter cost: the CPU time of the last frame.
  static func pause(_ interval: Duration, after cost: Duration, busy: Double) -> Duration {
    let ofCore = cost * share
    return max(interval, min(ofCore, longest), min(ofCore / max(busy, 0.001), smooth))
  }
}
