import DownloadModel
import Glibc
import SystemPackage
import TerminalProgress

enum TerminalPrompt {
  /// The controlling terminal, because standard input may be the list; `nil` without one.
  static func open() -> Int32? {
    let terminal = Glibc.open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
    return terminal >= 0 ? terminal : nil
  }

  /// - Returns: whether the answer was yes; `nil` without a terminal.
  static func confirm(_ question: String) -> Bool? {
    guard let terminal = open() else { return nil }
    defer { close(terminal) }
    say(TerminalText.sanitized(question), terminal)
    return ["y", "yes"].contains(line(terminal)?.lowercased())
  }

  /// Asks for a secret, without echo.
  /// - Returns: `nil` without a terminal, or after Ctrl-C.
  static func secret(_ question: String) -> String? {
    guard let terminal = open() else { return nil }
    defer { close(terminal) }
    var found = termios()
    guard tcgetattr(terminal, &found) == 0 else { return nil }
    var mode = found
    mode.c_lflag &= ~tcflag_t(ECHO)
    // Ctrl-Z and Ctrl-\ would leave the terminal without echo.
    withUnsafeMutableBytes(of: &mode.c_cc) { ($0[Int(VSUSP)], $0[Int(VQUIT)]) = (0, 0) }
    return Signals.hold { () -> String? in
      guard tcsetattr(terminal, TCSAFLUSH, &mode) == 0 else { return nil }
      say(TerminalText.sanitized(question), terminal)
      let answer = line(terminal)
      say("\n", terminal)
      tcsetattr(terminal, TCSAFLUSH, &found)
      return answer
    }
  }

  /// The edited line; empty if the terminal is gone, and for Ctrl-D.
  private static func line(_ terminal: Int32) -> String? {
    var wanted = pollfd(fd: terminal, events: Int16(POLLIN), revents: 0)
    // With a timeout: a signal taken by another thread does not wake this one.
    while poll(&wanted, 1, 100) <= 0 { if Signals.ending != nil { return nil } }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = read(terminal, &bytes, bytes.count)
    return String(utf8: bytes.prefix(max(0, count)).prefix { $0 != 0x0A })
  }

  private static func say(_ text: String, _ terminal: Int32) {
    // A question that cannot be written is not seen: so its answer counts as no, but a secret is still read.
    try? FileDescriptor(rawValue: terminal).writeWhole(text.utf8)
  }
}
