/// Where progress is written to. `TerminalOutput` is the real one; tests read the characters.
public protocol ProgressOutput: Sendable {
  /// Whether bytes would be taken at once. A stopped terminal (Ctrl-S) or a full pipe is not ready.
  var isReady: Bool { get }

  /// Whether the terminal is ours to draw on. A job in the background (`&`, `bg`) shares it with the shell.
  var isInForeground: Bool { get }

  /// The window as it is now; nil if it has none or does not say.
  var size: TerminalSize? { get }

  /// Writes everything, however long that takes.
  func write(_ bytes: [UInt8]) throws(OutputLost)

  /// Writes what is taken at once with a single call and gives the rest up; allocates nothing and never waits.
  func writeAtOnce(_ bytes: [UInt8])
}

/// Nobody reads any more: the terminal hung up, the pipe was closed, the disk of the log is full.
public struct OutputLost: Error, Sendable, Equatable {
  public var errno: Int32
  public init(errno: Int32) { self.errno = errno }
}
