import DownloadModel

/// Text from outside (names, server messages, lines of a list), made harmless for a terminal.
public enum TerminalText {
  /// Every text for a person passes this function. It takes out secrets (`Redaction`), then every character that acts
  /// on a terminal or hides from the eye: control characters (C0, DEL, C1), so that no escape sequence can start, bidi
  /// controls, so that no name reads other than it is, and what has no width. Tabs and line ends become one blank, so
  /// that words stay apart and no text forges a line.
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

  /// Harmless text for a terminal whose locale has no Unicode: the signs of dlm's own texts have stand-ins, and
  /// everything else becomes a question mark.
  public static func inASCII(_ text: String) -> String {
    if text.utf8.allSatisfy({ $0 < 0x80 }) { return text }
    let standIns: [Character: String] = ["×": "x", "…": "...", "≥": ">=", "–": "-", "±": "+-", "·": ","]
    return text.map { $0.isASCII ? String($0) : standIns[$0] ?? "?" }.joined()
  }

  /// The text without %-escapes (RFC 3986 §2.1); what is not UTF-8 becomes U+FFFD. For display only.
  static func percentDecoded(_ text: some StringProtocol) -> String {
    PercentEncoding.decode(text).map { String(decoding: $0, as: UTF8.self) } ?? String(text)
  }
}

/// A line under construction: text with colour, its width in cells counted as it grows.
struct StyledLine {
  /// A restrained palette of the terminal's own colours, so that it fits light and dark themes.
  enum Tone: String {
    case plain = ""
    case strong = "1"
    case dim = "2"
    case failed = "31"
    case done = "32"
    case retry = "33"
    case bar = "36"

    fileprivate static let end = Array("\u{1B}[0m".utf8)
  }

  /// Bytes, not a string: a frame appends a thousand pieces.
  private var bytes: [UInt8] = []
  private(set) var width = 0
  private let glyphs: Glyphs
  private let isColored: Bool

  init(glyphs: Glyphs, isColored: Bool) {
    self.glyphs = glyphs
    self.isColored = isColored
  }

  var text: String { String(decoding: bytes, as: UTF8.self) }

  /// Appends text that is harmless already.
  mutating func append(_ piece: String, _ tone: Tone = .plain) {
    append(piece, cells: CellWidth.of(piece), tone)
  }

  /// Appends text of which the width is known.
  mutating func append(_ piece: String, cells: Int, _ tone: Tone = .plain) {
    guard !piece.isEmpty else { return }
    width += cells
    let isStyled = isColored && tone != .plain
    if isStyled {
      bytes += [0x1B, UInt8(ascii: "[")]
      bytes += tone.rawValue.utf8
      bytes.append(UInt8(ascii: "m"))
    }
    bytes += piece.utf8
    if isStyled { bytes += Tone.end }
  }

  /// Appends text in a column: cut and filled up to exactly `cells`.
  mutating func append(_ piece: String, left cells: Int, _ tone: Tone = .plain) {
    let end = width + cells
    append(TextCut.inMiddle(piece, to: cells, ellipsis: glyphs.ellipsis), tone)
    pad(to: end)
  }

  /// Appends a number at the right edge of a column of `cells`.
  mutating func append(_ piece: String, right cells: Int, _ tone: Tone = .plain) {
    var (piece, needed) = (piece, CellWidth.of(piece))
    if needed > cells {
      piece = TextCut.atEnd(piece, to: cells, ellipsis: "")
      needed = CellWidth.of(piece)
    }
    pad(to: width + cells - needed)
    append(piece, cells: needed, tone)
  }

  mutating func pad(to width: Int) {
    guard width > self.width else { return }
    bytes.append(contentsOf: repeatElement(0x20, count: width - self.width))
    self.width = width
  }

  /// Text from outside, made harmless, and in a locale without Unicode made ASCII.
  static func shown(_ text: some StringProtocol, _ glyphs: Glyphs) -> String {
    let clean = TerminalText.sanitized(text)
    guard glyphs.isASCII, !clean.utf8.allSatisfy({ $0 < 0x80 }) else { return clean }
    return String(clean.map { $0.isASCII ? $0 : "?" })
  }
}
