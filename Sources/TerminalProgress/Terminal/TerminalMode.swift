import DownloadModel
import Glibc
import Synchronization

/// How a terminal treats keys: as it was found, or each at once and unseen. Ctrl-C stays a signal. It is touched only
/// in the foreground: else a process that sets the mode is stopped (SIGTTOU), or spoils the shell's.
final class TerminalMode: Sendable {
  private struct State {
    /// The mode as it was found; nil while it stands.
    var found: termios?
    var isSealed = false
  }

  /// Makes the terminal mark what is pasted, so that its lines are taken for neither keys nor answers.
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

  /// Turns echo and lines off, if this process has the terminal.
  /// - Returns: whether it did something.
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
      // Not TCSADRAIN: with the output stopped (Ctrl-S) that would wait for ever.
      // What was typed ahead of the bars was meant for nothing that they show.
      if !keepsInput { tcflush(descriptor, TCIFLUSH) }
      guard tcsetattr(descriptor, TCSANOW, &mode) == 0 else { return false }
      state.found = found
      return true
    }
  }

  /// Gives echo and lines back. What was typed meanwhile was a key or nothing: the shell must not run it.
  /// - Returns: whether it did something.
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

  /// Not for a terminal that does not control this process: another shell may have it.
  private var isOurs: Bool { tcgetpgrp(descriptor) == getpgrp() }
}
