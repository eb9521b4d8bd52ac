import ArgumentParser
import Glibc
import TerminalProgress

/// Standard output, for data. What cannot be written is said, and ends the command with a status that tells: a script
/// must not take half a list for the whole. Only a reader that has gone (`dlm cache list | head`) has what it wanted.
///
/// A gate as `StandardError` is one: people look at data too.
enum StandardOutput {
  /// - Parameter rows: lines, each of fields that a tab separates; a tab within a field becomes a blank.
  /// - Throws: what to end with: 74, having said why; 0 when nobody reads any more (EPIPE).
  static func say(rows: some Sequence<[String]>) throws(ExitCode) {
    var text = ""
    for fields in rows { text += fields.map { TerminalText.sanitized($0) }.joined(separator: "\t") + "\n" }
    try write(text)
  }

  /// - Throws: as above.
  static func say(_ lines: some Sequence<String>) throws(ExitCode) { try say(rows: lines.map { [$0] }) }

  /// Text of the program's own, as it is: help, completion scripts.
  /// - Throws: as above.
  static func write(_ text: String) throws(ExitCode) {
    guard let failure = DescriptorWrite.all(text.utf8, to: STDOUT_FILENO) else { return }
    if failure == EPIPE { throw ExitCode.success }
    StandardError.say([lost(failure)])
    throw ExitCode(ExitStatus.diskFailed.rawValue)
  }

  /// What is said of output that cannot be written.
  static func lost(_ errno: Int32) -> String {
    let remedy =
      errno == ENOSPC ? "free space there, or write it elsewhere" : "is what it leads to still there?"
    return "dlm: standard output cannot be written: \(String(cString: strerror(errno))); \(remedy)"
  }
}
