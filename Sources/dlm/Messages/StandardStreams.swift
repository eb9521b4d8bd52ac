import DownloadModel
import FoundationEssentials
import Glibc
import Synchronization
import SystemPackage
import TerminalProgress

/// Standard error, for messages to users: every text loses its secrets and everything that acts on a terminal
/// (`TerminalText.sanitized`). A wall keeps other code away from the descriptor.
enum StandardError {
  /// One line of a log, however long it is.
  static func log(_ line: String) { put([line], wraps: false) }

  /// Who writes lines above bars; nil where no bars stand.
  private static let above = Lock<(@Sendable ([String]) -> Bool)?>(nil)

  /// Has whoever draws bars write texts, so that none is written into a frame. The writer returns false for what it
  /// does not write.
  static func lead(to writer: (@Sendable ([String]) -> Bool)?) { above.withLock { $0 = writer } }

  static let isTerminal = isatty(STDERR_FILENO) == 1
  /// A terminal without Unicode may take bytes of other characters for commands; a log does not.
  private static let isASCII =
    isTerminal && !TerminalEnvironment(isTerminal: true, variables: ProcessInfo.processInfo.environment).isUTF8

  static func say(_ lines: some Sequence<String>) { put(lines, wraps: true) }

  static func say(_ line: String?) { put([line].compactMap(\.self), wraps: true) }

  private static func put(_ lines: some Sequence<String>, wraps: Bool) {
    var lines = lines.map { line in
      let line = TerminalText.sanitized(line)
      return isASCII ? TerminalText.inASCII(line) : line
    }
    if wraps { lines = StandardOutput.wrapped(lines, on: STDERR_FILENO) }
    guard !lines.isEmpty else { return }
    if let above = above.withLock({ $0 }), above(lines) { return }
    let text = lines.joined(separator: "\n") + "\n"
    // A failure is ignored: there is nowhere to report it, and the exit status is that of the work.
    try? FileDescriptor.standardError.writeWhole(text.utf8)
  }
}

/// Standard output, for data, which is sanitized too, as users look at it. A failed write ends the command, since a
/// script must not take half a list for the whole; a reader that has gone (`dlm cache list | head`) has what it wanted.
enum StandardOutput {
  /// - Parameter rows: lines, each of fields that a tab separates; a tab within a field becomes a blank.
  /// - Throws: the exit status: 74, having said why; 0 when the reader has gone (EPIPE).
  static func say(rows: some Sequence<[String]>) throws(ExitStatus) {
    try write(rows.map { $0.map { TerminalText.sanitized($0) }.joined(separator: "\t") + "\n" }.joined())
  }

  static func say(_ lines: some Sequence<String>) throws(ExitStatus) { try say(rows: lines.map { [$0] }) }

  static func say(json values: [JSONValue]) throws(ExitStatus) { try write(values.map { $0.text + "\n" }.joined()) }

  /// The size of the terminal on standard output; nil if that is no terminal.
  static var terminal: TerminalSize? { terminal(STDOUT_FILENO) }

  private static func terminal(_ descriptor: Int32) -> TerminalSize? {
    let output = TerminalOutput(descriptor: descriptor)
    return output.isTerminal ? output.size ?? .usual : nil
  }

  /// Lines broken between words where they go to a terminal that is narrower.
  static func wrapped(_ lines: [String], on descriptor: Int32 = STDOUT_FILENO) -> [String] {
    guard let size = terminal(descriptor) else { return lines }
    return lines.flatMap { TextWrap.lines($0, columns: size.columns) }
  }

  /// Text of the program's own, as it is: help, completion scripts.
  static func write(_ text: String) throws(ExitStatus) {
    do throws(Errno) {
      try FileDescriptor.standardOutput.writeWhole(text.utf8)
    } catch {
      if error == .brokenPipe { throw .success }
      StandardError.say(TroubleMessages.outputLost(error))
      throw .diskFailed
    }
  }
}

/// Descriptors 0 to 2, which a caller may have closed.
enum StandardDescriptors {
  /// Opens /dev/null where nothing is open, since messages would be written into the file or connection that gets the
  /// number. Input is opened for writing and output for reading, so that using them still fails (EBADF).
  static func claim() {
    for (descriptor, flags) in [
      (STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_WRONLY),
    ] where fcntl(descriptor, F_GETFD) < 0 && errno == EBADF {
      // The kernel gives the lowest free number, which is this one. A failure leaves it closed.
      _ = open("/dev/null", flags)
    }
  }
}
