import DownloadModel
import Glibc
import Synchronization

/// A terminal's key mode: the original one, or each key at once and without echo. Ctrl-C stays a signal. It is changed
/// only in the foreground: in the background, a process that sets the mode is stopped (SIGTTOU), or changes the shell's
/// mode.
final class TerminalMode: Sendable {
  private struct State {
    /// The original mode; `nil` while it is in effect.
    var found: termios?
    var isSealed = false
  }

  /// Makes the terminal mark pasted text, so that its lines are not read as keys or answers.
  static let pasteOn = Array("\u{1B}[?2004h".utf8)
  static let pasteOff = Array("\u{1B}[?2004l".utf8)

  private let descriptor: Int32
  /// Whether typed text is not for dlm, but for the next program that reads.
  let keepsInput: Bool
  private let state = Lock(State())

  init(_ descriptor: Int32, keepsInput: Bool) {
    self.descriptor = descriptor
    self.keepsInput = keepsInput
  }

  /// Turns off echo and line mode, if this process has the terminal.
  /// - Returns: whether it changed the mode.
  func take() -> Bool {
    state.withLock { state in
      guard state.found == nil, !state.isSealed, isOurs else { return false }
      var found = termios()
      guard tcgetattr(descriptor, &found) == 0 else { return false }
      var mode = found
      mode.c_lflag &= ~tcflag_t(ICANON | ECHO)
      withUnsafeMutableBytes(of: &mode.c_cc) {
        $0[Int(VMIN)] = 1
        $0[Int(VTIME)] = 0
      }
      // Not TCSADRAIN: with the output stopped (Ctrl-S) that would wait forever. Text that was typed before the bars
      // appeared is no answer to anything they show.
      if !keepsInput { tcflush(descriptor, TCIFLUSH) }
      guard tcsetattr(descriptor, TCSANOW, &mode) == 0 else { return false }
      state.found = found
      return true
    }
  }

  /// Restores echo and line mode. Text typed meanwhile was a key or meaningless: the shell must not run it.
  /// - Returns: whether it changed the mode.
  func giveBack(isForGood: Bool) -> Bool {
    state.withLock { state in
      if isForGood { state.isSealed = true }
      guard var found = state.found else { return false }
      state.found = nil
      guard isOurs else { return false }
      if !keepsInput { tcflush(descriptor, TCIFLUSH) }
      tcsetattr(descriptor, TCSANOW, &found)
      return true
    }
  }

  /// False for a terminal that does not control this process: another shell may have it.
  private var isOurs: Bool { tcgetpgrp(descriptor) == getpgrp() }
}
