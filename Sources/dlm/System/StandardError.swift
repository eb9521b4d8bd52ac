import DownloadModel
import FoundationEssentials
import Glibc
import Synchronization
import SystemPackage
import TerminalProgress

/// Standard error, for messages to users: every text loses its secrets and everything that acts on a terminal
/// (`TerminalText.sanitized`). A wall keeps other code away from the descriptor.
enum StandardError {
  /// One line of a log, whatever its length.
  static func log(_ line: String) { put([line], wraps: false) }

  /// Writes lines above bars; `nil` if no bars are shown.
  private static let above = Lock<(@Sendable ([String]) -> Bool)?>(nil)

  /// Lets the renderer of bars write texts, so that none is written into a frame. The writer returns false for a text
  /// that it does not write.
  static func lead(to writer: (@Sendable ([String]) -> Bool)?) { above.withLock { $0 = writer } }

  static let isTerminal = isatty(STDERR_FILENO) == 1
  /// A terminal without Unicode may interpret bytes of other characters as commands; a log does not.
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
    // A failure is ignored: it could not be reported, and the exit status is that of the work.
    try? FileDescriptor.standardError.writeWhole(text.utf8)
  }
}
