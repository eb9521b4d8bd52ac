/// Messages in a window that is narrower than they are: broken between words. A pure function.
///
/// What is to be copied stays in one piece, and the terminal breaks it if it must: a command gets a line of its own,
/// and a line that is set in (an address below its cause) stays as it is.
public enum TextWrap {
  private static let indent = "    "

  /// - Parameter columns: of the window.
  /// - Returns: `text` alone if it fits.
  public static func lines(_ text: String, columns: Int) -> [String] {
    guard columns > 0, CellWidth.of(text) > columns, !text.hasPrefix(indent) else { return [text] }
    guard let command = command(in: text) else { return wrapped(text, columns) }
    let before = wrapped(String(text[..<command.lowerBound]), columns)
    let note = text[command.upperBound...].drop { $0 == " " }
    let after = note.isEmpty ? [] : wrapped(indent + note, columns)
    return before + [indent + text[command]] + after
  }

  /// From behind the colon that introduces it to three blanks or the end.
  private static func command(in text: String) -> Range<String.Index>? {
    guard let lead = [": dlm ", ": … | dlm "].lazy.compactMap({ text.firstRange(of: $0) }).first else { return nil }
    let start = text.index(lead.lowerBound, offsetBy: 2)
    return start..<(text[start...].firstRange(of: "   ")?.lowerBound ?? text.endIndex)
  }

  private static func wrapped(_ text: String, _ columns: Int) -> [String] {
    let margin = String(text.prefix { $0 == " " })
    var lines: [String] = []
    var line = margin
    for word in text.split(separator: " ") {
      let next = line.allSatisfy { $0 == " " } ? line + word : line + " " + word
      if CellWidth.of(next) <= columns || line.allSatisfy({ $0 == " " }) {
        line = next
      } else {
        lines.append(line)
        line = (lines.isEmpty ? margin : indent) + word
      }
    }
    return lines + [line]
  }
}
