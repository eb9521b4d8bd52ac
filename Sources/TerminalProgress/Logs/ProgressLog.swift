import DownloadModel
import Synchronization

/// A way to show progress as lines: numbers in, bytes out. It neither waits nor writes, and never takes the terminal.
protocol ProgressLog: Sendable {
  /// - Parameter now: since the start, on a monotonic clock.
  /// - Returns: nothing if there is nothing new to show.
  mutating func draw(_ sample: ProgressSample, at now: Duration) -> [UInt8]

  /// The last words: every event that is left.
  mutating func end(_ sample: ProgressSample, at now: Duration) -> [UInt8]
}
