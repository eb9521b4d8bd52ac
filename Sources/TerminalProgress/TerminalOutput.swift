import DownloadModel
import Glibc
import Synchronization

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

  /// Turns echo and lines off: what is typed is a key. Only in the foreground; done already, it costs nothing.
  func takeKeys()

  /// Gives echo and lines back, from any thread.
  /// - Parameter isForGood: `takeKeys` does nothing from then on.
  func giveKeysBack(isForGood: Bool)

  /// Writes what is taken at once with a single call and gives the rest up; allocates nothing and never waits.
  func writeAtOnce(_ bytes: [UInt8])
}

/// Output is no longer taken: the terminal hung up, the pipe was closed, or the disk of the log is full.
public struct OutputLost: Error, Sendable, Equatable {
  public var errno: Int32
  public init(errno: Int32) { self.errno = errno }
}

/// Standard error, or another descriptor: the only place where progress meets the system.
///
/// The descriptor stays blocking or not as it was found: it is shared with the shell and other processes.
public struct TerminalOutput: ProgressOutput {
  private let descriptor: Int32
  /// Nil where keys are left as they are.
  private let mode: TerminalMode?

  /// - Parameters:
  ///   - descriptor: nil for standard error.
  ///   - takesKeys: whether what is typed is unseen while bars stand.
  ///   - keepsInput: whether it is left for the program that reads next.
  public init(descriptor: Int32? = nil, takesKeys: Bool = false, keepsInput: Bool = false) {
    let descriptor = descriptor ?? STDERR_FILENO
    self.descriptor = descriptor
    mode = takesKeys ? TerminalMode(descriptor, keepsInput: keepsInput) : nil
  }

  public var isTerminal: Bool { isatty(descriptor) == 1 }

  public var isReady: Bool { canWrite(within: 0) }

  /// True also for what is no terminal, or not the one that controls this process.
  public var isInForeground: Bool {
    let group = tcgetpgrp(descriptor)
    return group < 0 || group == getpgrp()
  }

  public var size: TerminalSize? {
    var window = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0, window.ws_row > 0 else { return nil }
    return TerminalSize(columns: Int(window.ws_col), rows: Int(window.ws_row))
  }

  public func takeKeys() {
    // What is left for the next program is left as it was typed, without marks.
    if mode?.take() == true, mode?.keepsInput == false { writeAtOnce(TerminalMode.pasteOn) }
  }

  public func giveKeysBack(isForGood: Bool) {
    if mode?.giveBack(isForGood: isForGood) == true { writeAtOnce(TerminalMode.pasteOff) }
  }

  public func write(_ bytes: [UInt8]) throws(OutputLost) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN {
        _ = canWrite(within: -1)
      } else if errno != EINTR {
        throw OutputLost(errno: errno)
      }
    }
  }

  public func writeAtOnce(_ bytes: [UInt8]) {
    guard isReady else { return }
    // The process is about to end: what was not taken, or failed, cannot be mended.
    _ = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
  }

  /// - Parameter milliseconds: how long to wait for it; -1 for good.
  private func canWrite(within milliseconds: Int32) -> Bool {
    var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    // An error counts as ready: the write that follows will say what it is.
    return poll(&request, 1, milliseconds) != 0
  }
}

/// A window's size in character cells.
public struct TerminalSize: Sendable, Equatable {
  public var columns: Int
  public var rows: Int

  public init(columns: Int, rows: Int) { (self.columns, self.rows) = (columns, rows) }

  /// What a terminal has that does not say (POSIX.1: 80 by 24).
  public static let usual = TerminalSize(columns: 80, rows: 24)
}

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
  init(_ descriptor: Int32, keepsInput: Bool) { (self.descriptor, self.keepsInput) = (descriptor, keepsInput) }

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
      state.keepsInput = keepsInput || ioctl(descriptor, UInt(FIONREAD), &waiting) == 0 && waiting > 0
      state.found = found
      return true
    }
  }

  /// Gives echo and lines back. What was typed meanwhile was a key or nothing: it is not left for the shell to run.
  /// - Parameter isForGood: from now on `take` does nothing.
  /// - Returns: whether it did something.
  func giveBack(isForGood: Bool) -> Bool {
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
