import Glibc

/// Asks for a secret at the terminal, unseen, before the run: nothing else moves meanwhile.
enum PassphrasePrompt {
  /// - Returns: what was typed up to the end of the line; nil where there is no terminal, or nothing was to be said.
  static func ask(_ question: String) -> String? {
    // Not standard input: the list may come through it.
    let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
    guard terminal >= 0 else { return nil }
    defer { close(terminal) }
    var found = termios()
    guard tcgetattr(terminal, &found) == 0 else { return nil }
    var mode = found
    // Ctrl-C is a key like others: as a signal it would end dlm and leave the terminal without echo.
    mode.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG)
    guard tcsetattr(terminal, TCSAFLUSH, &mode) == 0 else { return nil }
    say(question, terminal)
    let answer = line(terminal)
    say("\n", terminal)
    tcsetattr(terminal, TCSAFLUSH, &found)
    if answer == nil { raise(SIGINT) }
    return answer
  }

  /// - Returns: nil for Ctrl-C.
  private static func line(_ terminal: Int32) -> String? {
    var bytes: [UInt8] = []
    while true {
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
    // Where it cannot be written, the question is not seen, and the answer is asked for all the same.
    _ = DescriptorWrite.all(text.utf8, to: terminal)
  }
}
