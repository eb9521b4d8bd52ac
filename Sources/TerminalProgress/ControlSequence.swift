/// The terminal commands that frames use (ECMA-48, xterm, synchronized output).
enum ControlSequence {
  static let beginFrame = "\u{1B}[?2026h"
  static let endFrame = "\u{1B}[?2026l"
  static let hideCursor = "\u{1B}[?25l"
  static let showCursor = "\u{1B}[?25h"
  static let wrapOff = "\u{1B}[?7l"
  static let wrapOn = "\u{1B}[?7h"
  static let resetStyle = "\u{1B}[0m"
  static let eraseToLineEnd = "\u{1B}[K"
  static let eraseBelow = "\u{1B}[J"
  /// The descriptor may be in raw mode, where a line feed alone does not return.
  static let newLine = "\r\n"

  static func up(_ lines: Int) -> String { lines > 0 ? "\u{1B}[\(lines)A" : "" }
}
