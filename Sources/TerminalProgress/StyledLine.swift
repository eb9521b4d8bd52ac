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
  }

  private(set) var text = ""
  private(set) var width = 0
  let glyphs: Glyphs
  let isColored: Bool

  init(glyphs: Glyphs, isColored: Bool) {
    self.glyphs = glyphs
    self.isColored = isColored
  }

  /// Appends text that is harmless already.
  mutating func append(_ piece: String, _ tone: Tone = .plain) {
    guard !piece.isEmpty else { return }
    width += CellWidth.of(piece)
    if isColored, tone != .plain {
      text += "\u{1B}[\(tone.rawValue)m\(piece)\u{1B}[0m"
    } else {
      text += piece
    }
  }

  /// Appends text in a column: cut and filled up to exactly `cells`.
  mutating func append(_ piece: String, left cells: Int, _ tone: Tone = .plain) {
    let end = width + cells
    append(TextCut.inMiddle(piece, to: cells, ellipsis: glyphs.ellipsis), tone)
    pad(to: end)
  }

  /// Appends a number at the right edge of a column of `cells`.
  mutating func append(_ piece: String, right cells: Int, _ tone: Tone = .plain) {
    let piece = TextCut.atEnd(piece, to: cells, ellipsis: "")
    pad(to: width + cells - CellWidth.of(piece))
    append(piece, tone)
  }

  mutating func pad(to width: Int) {
    if width > self.width { append(String(repeating: " ", count: width - self.width)) }
  }

  /// Text from outside, made harmless, and in a locale without Unicode made ASCII.
  static func shown(_ text: some StringProtocol, _ glyphs: Glyphs) -> String {
    let clean = TerminalText.sanitized(text)
    guard glyphs.isASCII, !clean.utf8.allSatisfy({ $0 < 0x80 }) else { return clean }
    return String(clean.map { $0.isASCII ? $0 : "?" })
  }
}
