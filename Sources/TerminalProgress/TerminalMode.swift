import DownloadModel
import Glibc
import Synchronization

/// How a terminal treats keys: as it was found, or each at once and unseen. Ctrl-C stays a signal.
///
/// It is touched only while this process has the terminal: in the background it is the shell's, and a process that sets
/// its mode is stopped (SIGTTOU), or spoils the shell's.
final class TerminalMode: Sendable {
  private struct State {
    /// The mode as it was found; nil while it stands.
    var found: termios?
    /// Whether something was typed before, or what is typed is none of ours: it is for whoever reads next.
    var keepsInput = false
    var isSealed = false
  }

  /// Makes the terminal mark what is pasted, so that its lines are not taken for keys, and do not answer several
  /// questions.
  static let pasteOn = Array("\u{1B}[?2004h".utf8)
  static let pasteOff = Array("\u{1B}[?2004l".utf8)

  private let descriptor: Int32
  let keepsInput: Bool
  private let state = Lock(State())

  /// - Parameter keepsInput: whether what is typed meanwhile is left for the program that reads next.
  init(_ descriptor: Int32, keepsInput: Bool = false) {
    (self.descriptor, self.keepsInput) = (descriptor, keepsInput)
  }

  /// Turns echo and lines off, if this process has the terminal. It costs nothing where that is done already.
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
      guard tcsetattr(descriptor, TCSANOW, &mode) == 0 else { return false }
      var waiting: Int32 = 0
      state.keepsInput =
        keepsInput || ioctl(descriptor, UInt(FIONREAD), &waiting) == 0 && waiting > 0
      state.found = found
      return true
    }
  }

  /// Gives echo and lines back. What was typed meanwhile was a key or nothing: it is not left for the shell to run.
  /// - Parameter isForGood: from now on `take` does nothing.
  /// - Returns: whether it did something.
  func giveBack(isForGood: Bool = false) -> Bool {
    state.withLock { state in
      if isForGood { state.isSealed = true }
      guard var found = state.found else { return false }
      state.found = nil
      guard isOurs else { return false }
      if !state.keepsInput { tcflush(descriptor, TCIFLUSH) }
      tcsetattr(descriptor, TCSANOW, &found)
      return true
    }
  }

  /// Not for a terminal that does not control this process: another shell may have it.
  private var isOurs: Bool { tcgetpgrp(descriptor) == getpgrp() }
}
