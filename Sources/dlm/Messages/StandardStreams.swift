import DownloadModel
import ArgumentParser
import FoundationEssentials
import Glibc
import Synchronization
import SystemPackage
import TerminalProgress

/// Standard error, for messages to users. A failed write is ignored, since there is nowhere else to report it.
///
/// It is a gate, swift-log's too: every text that passes loses its secrets and everything that acts on a terminal
/// (`TerminalText.sanitized`). A wall keeps other code away from the descriptor.
struct StandardError: TextOutputStream, Sendable {
  /// - Parameter text: one line, with or without its end. Line ends within it come from outside, and become blanks.
  mutating func write(_ text: String) { Self.say([text.last == "\n" ? String(text.dropLast()) : text]) }

  /// Where bars stand: who writes lines above them. Nil where nobody is to be asked.
  private static let above = Lock<(@Sendable ([String]) -> Bool)?>(nil)

  /// While bars stand, texts go to whoever draws them, so that none is written into a frame.
  /// - Parameter writer: returns false for what it does not write; nil to write directly again.
  static func lead(to writer: (@Sendable ([String]) -> Bool)?) { above.withLock { $0 = writer } }

  /// A terminal without Unicode may take bytes of other characters for commands. A log keeps them.
  private static let isASCII =
    isatty(STDERR_FILENO) == 1
    && !TerminalEnvironment(isTerminal: true, variables: ProcessInfo.processInfo.environment).isUTF8

  static func say(_ lines: some Sequence<String>) {
    let lines = lines.map { line in
      let line = TerminalText.sanitized(line)
      return isASCII ? TerminalText.inASCII(line) : line
    }
    guard !lines.isEmpty else { return }
    if let above = above.withLock({ $0 }), above(lines) { return }
    let text = lines.joined(separator: "\n") + "\n"
    // The exit status stays that of the work.
    try? FileDescriptor.standardError.writeWhole(text.utf8)
  }
}

/// Standard output, for data. A failed write is reported and ends the command with a status of its own: a script must
/// not take half a list for the whole. Only a reader that has gone (`dlm cache list | head`) has what it wanted.
///
/// A gate like `StandardError`, because users look at data too.
enum StandardOutput {
  /// - Parameter rows: lines, each of fields that a tab separates; a tab within a field becomes a blank.
  /// - Throws: the exit status: 74, having said why; 0 when the reader has gone (EPIPE).
  static func say(rows: some Sequence<[String]>) throws(ExitCode) {
    try write(rows.map { $0.map { TerminalText.sanitized($0) }.joined(separator: "\t") + "\n" }.joined())
  }

  static func say(_ lines: some Sequence<String>) throws(ExitCode) { try say(rows: lines.map { [$0] }) }

  /// The size of the terminal that standard output is; nil if it is none.
  static var terminal: TerminalSize? {
    let output = TerminalOutput(descriptor: STDOUT_FILENO)
    return output.isTerminal ? output.size ?? .usual : nil
  }

  /// Lines broken between words where standard output is a terminal that is narrower.
  static func wrapped(_ lines: [String]) -> [String] {
    guard let size = terminal else { return lines }
    return lines.flatMap { TextWrap.lines($0, columns: size.columns) }
  }

  /// Text of the program's own, as it is: help, completion scripts.
  static func write(_ text: String) throws(ExitCode) {
    do throws(Errno) {
      try FileDescriptor.standardOutput.writeWhole(text.utf8)
    } catch {
      if error == .brokenPipe { throw ExitCode.success }
      StandardError.say([TroubleMessages.outputLost(error)])
      throw ExitCode(ExitStatus.diskFailed.rawValue)
    }
  }
}

/// Descriptors 0 to 2, which a caller may have closed.
enum StandardDescriptors {
  /// Opens /dev/null where nothing is open, before anything else gets the number: else progress or a message would be
  /// written into a file or connection.
  ///
  /// Input is opened for writing and output for reading, so that reading a list there, or writing data, fails with "Bad
  /// file descriptor" as it would have without, and silence is not taken for success.
  static func claim() {
    for (descriptor, flags) in [
      (STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_WRONLY),
    ] where fcntl(descriptor, F_GETFD) < 0 && errno == EBADF {
      // The kernel gives the lowest free number, which is this one. Without /dev/null there is nothing to be done.
      _ = open("/dev/null", flags)
    }
  }
}
