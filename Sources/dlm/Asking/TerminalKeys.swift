import DownloadModel
import Glibc
import Synchronization

/// The keys of whoever sits at the terminal, one at a time and unseen, while files go on. On a thread of its own, since
/// people think.
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

  /// Has each key at once and unseen, from any thread.
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
