import Glibc
import SystemPackage
import TerminalProgress

/// Asks at the terminal before the run, when nothing else moves.
enum TerminalPrompt {
  /// The controlling terminal, and not standard input: the list may come through that.
  /// - Returns: nil where there is none.
  static func open() -> Int32? {
    let terminal = Glibc.open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
    return terminal >= 0 ? terminal : nil
  }

  /// A question that is answered with yes or no before anything is done.
  /// - Returns: nil where there is no terminal to ask at.
  static func confirm(_ question: String) -> Bool? {
    guard let terminal = open() else { return nil }
    defer { close(terminal) }
    say(TerminalText.sanitized(question), terminal)
    return ["y", "yes"].contains(line(terminal)?.lowercased())
  }

  /// Asks for a secret, unseen.
  /// - Returns: what was typed up to the end of the line; nil where there is no terminal, or it was left with Ctrl-C.
  static func secret(_ question: String) -> String? {
    guard let terminal = open() else { return nil }
    defer { close(terminal) }
    var found = termios()
    guard tcgetattr(terminal, &found) == 0 else { return nil }
    var mode = found
    // Ctrl-C arrives as a key, since Ctrl-Z as a signal would leave the terminal without echo.
    mode.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG)
    return Signals.hold { () -> String? in
      guard tcsetattr(terminal, TCSAFLUSH, &mode) == 0 else { return nil }
      say(TerminalText.sanitized(question), terminal)
      let answer = line(terminal)
      say("\n", terminal)
      tcsetattr(terminal, TCSAFLUSH, &found)
      if answer == nil, Signals.ending == nil { Signals.note(SIGINT) }
      return answer
    }
  }

  /// - Returns: nil for Ctrl-C, and for a signal.
  private static func line(_ terminal: Int32) -> String? {
    var bytes: [UInt8] = []
    while true {
      var wanted = pollfd(fd: terminal, events: Int16(POLLIN), revents: 0)
      // The signal may be another thread's, whose handler wakes nobody here.
      while poll(&wanted, 1, 100) <= 0 { if Signals.ending != nil { return nil } }
      var byte: UInt8 = 0
      let count = read(terminal, &byte, 1)
      if count < 0, errno == EINTR { continue }
      // A terminal that has gone, or Ctrl-D.
      if count != 1 || byte == 4 { return String(decoding: bytes, as: UTF8.self) }
      switch byte {
      case 3: return nil
      case UInt8(ascii: "\n"), UInt8(ascii: "\r"): return String(decoding: bytes, as: UTF8.self)
      case 8, 0x7f:
        // The last character, however many bytes it has.
        while let last = bytes.popLast(), last & 0xC0 == 0x80 {}
      case 21: bytes = []  // Ctrl-U
      default: bytes.append(byte)
      }
    }
  }

  private static func say(_ text: String, _ terminal: Int32) {
    // A question that cannot be written is not seen: nobody says yes to it, and a secret is read all the same.
    try? FileDescriptor(rawValue: terminal).writeWhole(text.utf8)
  }
}
