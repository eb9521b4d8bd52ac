import Glibc

/// Where progress is written to. `TerminalOutput` is the real one; tests read the characters.
package protocol ProgressOutput: Sendable {
  /// Whether bytes would be taken at once. A stopped terminal (Ctrl-S) or a full pipe is not ready.
  var isReady: Bool { get }

  /// Whether the terminal is ours to draw on. A job in the background (`&`, `bg`) shares it with the shell.
  var isInForeground: Bool { get }

  /// The window as it is now; nil if it has none or does not say.
  var size: TerminalSize? { get }

  /// Writes everything, however long that takes.
  func write(_ bytes: [UInt8]) throws(OutputLost)

  /// Turns echo and lines off: what is typed is a key. Only in the foreground; done already, it costs nothing.
  func takeKeys()

  /// Gives echo and lines back, from any thread; for good, `takeKeys` does nothing from then on.
  func giveKeysBack(isForGood: Bool)

  /// Writes what is taken at once with a single call and gives the rest up; allocates nothing and never waits.
  func writeAtOnce(_ bytes: [UInt8])
}
