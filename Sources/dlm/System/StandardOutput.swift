import DownloadModel
import FoundationEssentials
import Glibc
import SystemPackage
import TerminalProgress

/// Standard output, for data, which is also sanitized, because users look at it. A failed write ends the command,
/// because a script must not read half a list as the whole; a reader that has gone (`dlm cache list | head`) is no
/// failure.
enum StandardOutput {
  /// - Parameter rows: lines, each of fields separated by tabs; a tab within a field becomes a blank.
  /// - Throws: the exit status: 74, after the message; 0 when the reader has gone (EPIPE).
  static func say(rows: some Sequence<[String]>) throws(ExitStatus) {
    try write(rows.map { $0.map { TerminalText.sanitized($0) }.joined(separator: "\t") + "\n" }.joined())
  }

  static func say(_ lines: some Sequence<String>) throws(ExitStatus) { try say(rows: lines.map { [$0] }) }

  static func say(json values: [JSONValue]) throws(ExitStatus) { try write(values.map { $0.text + "\n" }.joined()) }

  /// The size of the terminal on standard output, or the usual one if it is unknown; `nil` if it is not a terminal.
  static var terminal: TerminalSize? { terminal(STDOUT_FILENO) }

  private static func terminal(_ descriptor: Int32) -> TerminalSize? {
    let output = TerminalOutput(descriptor: descriptor)
    return output.isTerminal ? output.size ?? .usual : nil
  }

  /// Lines wrapped between words if they go to a narrower terminal.
  static func wrapped(_ lines: [String], on descriptor: Int32 = STDOUT_FILENO) -> [String] {
    guard let size = terminal(descriptor) else { return lines }
    return lines.flatMap { TextWrap.lines($0, columns: size.columns) }
  }

  /// The program's own text, unchanged: help, completion scripts.
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
