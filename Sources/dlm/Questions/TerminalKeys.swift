import DownloadModel
import Glibc
import Synchronization
import SystemPackage

/// The keys typed at the terminal, one at a time and without echo, while files go on. On a thread of its own,
/// because users take their time.
actor TerminalKeys {
  private nonisolated let executor = BlockingExecutor(label: "dlm.keys")
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private let descriptor: Int32
  private nonisolated let mode: TerminalMode
  private nonisolated let interruption = Interruption()

  /// - Returns: nil where there is no terminal to ask at.
  init?() {
    // Not standard input: the list may come through it.
    let descriptor = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
    guard descriptor >= 0 else { return nil }
    guard let mode = TerminalMode(descriptor) else {
      close(descriptor)
      return nil
    }
    self.descriptor = descriptor
    self.mode = mode
  }

  deinit {
    mode.restore()
    close(descriptor)
  }

  /// The next byte typed; nil once the task is cancelled or the terminal is gone.
  func next() async -> UInt8? {
    await withTaskCancellationHandler {
      mode.takeKeys()
      guard interruption.waitUntilReadable(descriptor) else { return nil }
      var byte: UInt8 = 0
      return read(descriptor, &byte, 1) == 1 ? byte : nil
    } onCancel: {
      interruption.raise()
    }
  }

  /// Sets the terminal to give each key at once and without echo, from any thread.
  nonisolated func takeKeys() { mode.takeKeys() }

  /// Gives the terminal back its lines and its echo, from any thread.
  nonisolated func restore() { mode.restore() }
}

/// How a terminal treats keys: as it was found, or each at once and unseen. Ctrl-C stays a signal.
final class TerminalMode: Sendable {
  private let descriptor: Int32
  private let found: termios
  private let isChanged = Mutex(false)

  init?(_ descriptor: Int32) {
    var found = termios()
    guard tcgetattr(descriptor, &found) == 0 else { return nil }
    self.descriptor = descriptor
    self.found = found
  }

  func takeKeys() {
    isChanged.withLock { isChanged in
      guard !isChanged else { return }
      var mode = found
      mode.c_lflag &= ~tcflag_t(ICANON | ECHO)
      isChanged = tcsetattr(descriptor, TCSADRAIN, &mode) == 0
    }
  }

  func restore() {
    isChanged.withLock { isChanged in
      guard isChanged else { return }
      var mode = found
      tcsetattr(descriptor, TCSADRAIN, &mode)
      isChanged = false
    }
  }
}

/// Asks for a secret at the terminal, unseen, before the run: nothing else moves meanwhile.
enum PassphrasePrompt {
  /// - Returns: what was typed up to the end of the line; nil where there is no terminal, or it was left with
  ///   Ctrl-C.
  static func ask(_ question: String) -> String? {
    // Not standard input: the list may come through it.
    let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
    guard terminal >= 0 else { return nil }
    defer { close(terminal) }
    var found = termios()
    guard tcgetattr(terminal, &found) == 0 else { return nil }
    var mode = found
    // Ctrl-C arrives as a key: as a signal it would end dlm and leave the terminal without echo.
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
    // If the prompt cannot be written, it is not seen, but the answer is read all the same.
    try? FileDescriptor(rawValue: terminal).writeWhole(text.utf8)
  }
}
