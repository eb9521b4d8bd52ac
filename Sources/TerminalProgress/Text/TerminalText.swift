import DownloadModel

/// Text from outside (names, server messages, lines of a list), made harmless for a terminal.
package enum TerminalText {
  /// Every text for people passes this function. It removes secrets (`Redaction`) and every character that acts on a
  /// terminal or is invisible: controls (C0, DEL, C1), bidi controls, and characters without width. Tabs and line ends
  /// become one blank, so that words stay apart and no text can forge a line.
  package static func sanitized(_ text: some StringProtocol) -> String {
    let text = Redaction.redacted(text)
    if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return text }
    var scalars = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      switch scalar.value {
      case 0x09, 0x0A, 0x0D, 0x85, 0x2028, 0x2029:
        if scalars.last != " " { scalars.append(" ") }
      default: if !scalar.isHarmful { scalars.append(scalar) }
      }
    }
    return String(scalars)
  }

  /// For a locale without Unicode: the signs of dlm's own texts have replacements, and others become question marks.
  package static func inASCII(_ text: String) -> String {
    if text.utf8.allSatisfy({ $0 < 0x80 }) { return text }
    let standIns: [Character: String] = ["×": "x", "…": "...", "≥": ">=", "–": "-", "±": "+-", "·": ","]
    return text.map { $0.isASCII ? String($0) : standIns[$0] ?? "?" }.joined()
  }

  /// Text from outside, made harmless, and made ASCII in a locale without Unicode.
  static func shown(_ text: some StringProtocol, _ glyphs: Glyphs) -> String {
    glyphs.isASCII ? inASCII(sanitized(text)) : sanitized(text)
  }
}
