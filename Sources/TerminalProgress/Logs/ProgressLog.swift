import DownloadModel

/// Shows progress as lines: numbers in, bytes out. It neither waits nor writes, and never controls the terminal.
protocol ProgressLog: Sendable {
  /// - Parameter now: since the start, on a monotonic clock.
  /// - Returns: empty if there is nothing new to show.
  mutating func draw(_ sample: ProgressSample, at now: Duration) -> [UInt8]

  /// The last lines: every remaining event.
  mutating func end(_ sample: ProgressSample, at now: Duration) -> [UInt8]
}
