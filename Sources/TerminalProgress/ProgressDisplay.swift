import DownloadModel

/// A way to show progress: numbers in, bytes out. It neither waits nor writes.
protocol ProgressDisplay: Sendable {
  /// Time between two looks at the numbers.
  var interval: Duration { get }

  /// - Parameter now: since the start, on a monotonic clock.
  /// - Returns: nothing if there is nothing new to show.
  mutating func draw(_ sample: ProgressSample, at now: Duration, size: TerminalSize) -> [UInt8]

  /// The last words: every event that is left, and the terminal as it was found.
  mutating func end(_ sample: ProgressSample, at now: Duration, size: TerminalSize) -> [UInt8]

  /// Gives the terminal back for a while; the next `draw` takes it again.
  mutating func suspend() -> [UInt8]

  /// What gives the terminal back from any state at all; empty if it is never taken.
  var restoring: [UInt8] { get }
}
