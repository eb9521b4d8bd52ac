import DownloadModel

/// Text from outside (names, server messages, lines of a list), made harmless for a terminal.
public enum TerminalText {
  /// Every text for a person passes this function. It takes out secrets (`Redaction`) and every character that acts on
  /// a terminal or hides from the eye: controls (C0, DEL, C1), bidi controls, and what has no width. Tabs and line ends
  /// become one blank, so that words stay apart and no text forges a line.
  public static func sanitized(_ text: some StringProtocol) -> String {
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

  /// For a locale without Unicode: the signs of dlm's own texts have stand-ins, and the rest becomes question marks.
  public static func inASCII(_ text: String) -> String {
    if text.utf8.allSatisfy({ $0 < 0x80 }) { return text }
    let standIns: [Character: String] = ["×": "x", "…": "...", "≥": ">=", "–": "-", "±": "+-", "·": ","]
    return text.map { $0.isASCII ? String($0) : standIns[$0] ?? "?" }.joined()
  }

  /// The text without %-escapes (RFC 3986 §2.1); what is not UTF-8 becomes U+FFFD. For display only.
  static func percentDecoded(_ text: some StringProtocol) -> String {
    PercentEncoding.decode(text).map { String(decoding: $0, as: UTF8.self) } ?? String(text)
  }

  /// Text from outside, made harmless, and in a locale without Unicode made ASCII.
  static func shown(_ text: some StringProtocol, _ glyphs: Glyphs) -> String {
    let clean = sanitized(text)
    guard glyphs.isASCII, !clean.utf8.allSatisfy({ $0 < 0x80 }) else { return clean }
    return String(clean.map { $0.isASCII ? $0 : "?" })
  }
}

/// Cutting a text to a number of cells, never through a character.
enum TextCut {
  /// Keeps the beginning; `ellipsis` stands for the rest.
  static func atEnd(_ text: String, to width: Int, ellipsis: String) -> String {
    if CellWidth.of(text) <= width { return text }
    let mark = CellWidth.of(ellipsis)
    return width > mark ? text.prefix(count(text, width - mark)) + ellipsis : String(text.prefix(count(text, width)))
  }

  /// Keeps both ends, of which the last third, or more where a file's extension needs it.
  static func inMiddle(_ text: String, to width: Int, ellipsis: String) -> String {
    if CellWidth.of(text) <= width { return text }
    let mark = CellWidth.of(ellipsis)
    // Too narrow for two ends that say anything.
    guard width >= mark + 6 else { return atEnd(text, to: width, ellipsis: ellipsis) }
    var end = width / 3
    if let dot = text.lastIndex(of: "."), dot != text.startIndex {
      let ending = CellWidth.of(text[dot...])
      if ending > end, ending <= width / 2 { end = ending }
    }
    let tail = text.suffix(count(text.reversed(), end))
    return text.prefix(count(text, width - mark - CellWidth.of(tail))) + ellipsis + tail
  }

  /// How many characters fit, from the first on.
  private static func count(_ characters: some Sequence<Character>, _ width: Int) -> Int {
    var used = 0
    return characters.prefix {
      used += CellWidth.of($0)
      return used <= width
    }.count
  }
}

/// Messages broken between words for a narrow window. What is to be copied stays whole: a command gets a line of its
/// own, and a line that is set in (an address below its cause) stays as it is.
public enum TextWrap {
  private static let indent = "    "

  /// `text` alone if it fits into so many columns.
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
