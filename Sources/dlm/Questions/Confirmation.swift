import Glibc
import SystemPackage
import TerminalProgress

/// A question that is answered with yes or no before anything is done.
enum Confirmation {
  /// - Returns: nil where there is no terminal to ask at.
  static func ask(_ question: String) -> Bool? {
    // Not standard input: something else may come through it.
    let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
    guard terminal >= 0 else { return nil }
    defer { close(terminal) }
    // If the question cannot be written, nobody says yes to it.
    try? FileDescriptor(rawValue: terminal).writeWhole(TerminalText.sanitized(question).utf8)
    var line: [UInt8] = []
    while true {
      var byte: UInt8 = 0
      let count = read(terminal, &byte, 1)
      if count < 0, errno == EINTR { continue }
      if count != 1 || byte == 0x0A || byte == 0x0D { break }
      line.append(byte)
    }
    return ["y", "yes"].contains(String(decoding: line, as: UTF8.self).lowercased())
  }
}
