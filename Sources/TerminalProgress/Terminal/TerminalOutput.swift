import Glibc

/// Standard error, or another descriptor. Its blocking mode is not changed, because other processes share it.
package struct TerminalOutput: ProgressRenderer.Output {
  /// Output cannot be written any more: the terminal hung up, the pipe was closed, or the log's disk is full.
  package struct Lost: Error, Sendable, Equatable {
    package var errno: Int32

    package init(errno: Int32) { self.errno = errno }
  }

  private let descriptor: Int32
  /// `nil` if keys are left unchanged.
  private let mode: TerminalMode?

  /// - Parameter takesKeys: whether typed text is hidden while bars are shown.
  /// - Parameter keepsInput: whether typed text is left for the program that reads next.
  package init(
    descriptor: Int32 = STDERR_FILENO, takesKeys: Bool = false, keepsInput: @autoclosure () -> Bool = false
  ) {
    self.descriptor = descriptor
    mode = takesKeys && isatty(descriptor) == 1 ? TerminalMode(descriptor, keepsInput: keepsInput()) : nil
  }

  package var isTerminal: Bool { isatty(descriptor) == 1 }

  package var isReady: Bool { canWrite(within: 0) }

  /// True also for descriptors that are no terminal, or not the one that controls this process.
  package var isInForeground: Bool {
    let group = tcgetpgrp(descriptor)
    return group < 0 || group == getpgrp()
  }

  package var size: TerminalSize? {
    var window = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0, window.ws_row > 0 else { return nil }
    return TerminalSize(columns: Int(window.ws_col), rows: Int(window.ws_row))
  }

  package func takeKeys() {
    // Text for the next program must stay as typed, without marks.
    if mode?.take() == true, mode?.keepsInput == false { writeAtOnce(TerminalMode.pasteOn) }
  }

  package func giveKeysBack(isForGood: Bool) {
    if mode?.giveBack(isForGood: isForGood) == true { writeAtOnce(TerminalMode.pasteOff) }
  }

  package func write(_ bytes: [UInt8]) throws(Lost) { try write(bytes) { true } }

  /// Also to a non-blocking descriptor.
  /// - Parameter waits: called after each second in which nothing is accepted; returns whether to continue.
  package func write(_ bytes: [UInt8], while waits: () -> Bool) throws(Lost) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN {
        if !canWrite(within: 1000), !waits() { throw Lost(errno: EINTR) }
      } else if errno != EINTR {
        throw Lost(errno: errno)
      }
    }
  }

  package func writeAtOnce(_ bytes: [UInt8]) {
    guard isReady else { return }
    // The process is about to end: a partial or failed write cannot be repaired.
    _ = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
  }

  /// - Parameter milliseconds: how long to wait; -1 for no limit.
  private func canWrite(within milliseconds: Int32) -> Bool {
    var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    // An error counts as ready: the following write reports it.
    return poll(&request, 1, milliseconds) != 0
  }
}
