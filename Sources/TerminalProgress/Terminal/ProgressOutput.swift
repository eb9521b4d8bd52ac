/// The destination of progress. `TerminalOutput` is the real one; tests read the characters.
package protocol ProgressOutput: Sendable {
  /// Whether bytes would be accepted at once. A stopped terminal (Ctrl-S) or a full pipe is not ready.
  var isReady: Bool { get }

  /// Whether this process may draw on the terminal. A job in the background (`&`, `bg`) shares it with the shell.
  var isInForeground: Bool { get }

  /// The current size of the window; `nil` without a window or if unknown.
  var size: TerminalSize? { get }

  /// Writes everything, however long that takes.
  func write(_ bytes: [UInt8]) throws(OutputLost)

  /// Turns off echo and line mode: typed characters are keys. Only in the foreground; costs nothing if already done.
  func takeKeys()

  /// Restores echo and line mode, from any thread. After `isForGood`, `takeKeys` does nothing.
  func giveKeysBack(isForGood: Bool)

  /// Writes the bytes that are accepted at once with a single call and drops the rest; allocates nothing and never
  /// waits.
  func writeAtOnce(_ bytes: [UInt8])
}
