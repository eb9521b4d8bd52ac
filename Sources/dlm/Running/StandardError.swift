import Glibc
import TerminalProgress

/// Standard error, for words to people. Nobody is left to tell when it fails.
///
/// It is a gate: what passes has lost its secrets and everything that acts on a terminal (`TerminalText.sanitized`),
/// whoever made the text, swift-log's handler included. A wall keeps other ways to the descriptor away.
struct StandardError: TextOutputStream, Sendable {
  /// - Parameter text: one line, with or without its end. Line ends within it come from outside, and become blanks.
  mutating func write(_ text: String) { Self.say([text.last == "\n" ? String(text.dropLast()) : text]) }

  static func say(_ lines: some Sequence<String>) {
    var text = ""
    for line in lines { text += TerminalText.sanitized(line) + "\n" }
    // A failure cannot be told to anybody; the exit status is that of the work.
    _ = DescriptorWrite.all(text.utf8, to: STDERR_FILENO)
  }
}

/// write(2) to the end.
enum DescriptorWrite {
  /// Blocks until all is written.
  /// - Returns: the errno that prevented it.
  static func all(_ text: some Sequence<UInt8>, to descriptor: Int32) -> Int32? {
    var bytes = Array(text)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count >= 0 {
        bytes = bytes.dropFirst(count)
        continue
      }
      switch errno {
      case EINTR: continue
      case EAGAIN:
        // Shared with a program that made it non-blocking.
        var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = poll(&wanted, 1, -1)
      case let code: return code
      }
    }
    return nil
  }
}
