import DownloadModel

/// Text from outside (names, server messages, lines of a list), made harmless for a terminal.
package enum TerminalText {
  /// Every text for a person passes this function. It takes out secrets (`Redaction`) and every character that acts on
  /// a terminal or hides from the eye: controls (C0, DEL, C1), bidi controls, and what has no width. Tabs and line ends
  /// become one blank, so that words stay apart and no text forges a line.
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

  /// For a locale without Unicode: the signs of dlm's own texts have stand-ins, and the rest becomes question marks.
  package static func inASCII(_ text: String) -> String {
    if text.utf8.allSatisfy({ $0 < 0x80 }) { return text }
    let standIns: [Character: String] = ["×": "x", "…": "...", "≥": ">=", "–": "-", "±": "+-", "·": ","]
    return text.map { $0.isASCII ? String($0) : standIns[$0] ?? "?" }.joined()
  }

  /// The text without %-escapes (RFC 3986 §2.1); what is not UTF-8 becomes U+FFFD. For display only.
  static func percentDecoded(_ text: some StringProtocol) -> String {
    PercentEncoding.decode(text).map { String(utf8: $0) } ?? String(text)
  }

  /// Text from outside, made harmless, and in a locale without Unicode made ASCII.
  static func shown(_ text: some StringProtocol, _ glyphs: Glyphs) -> String {
    glyphs.isASCII ? inASCII(sanitized(text)) : sanitized(text)
  }
}

/// Cutting a text to a number of cells, never through a character.
package enum TextCut {
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

  /// Each name cut in its middle, but those that would look alike shortly before they begin to differ.
  static func apart(_ names: [String], to width: Int, ellipsis: String) -> [String] {
    var cut = names.map { inMiddle($0, to: width, ellipsis: ellipsis) }
    guard cut != names, width >= 12 else { return cut }
    for alike in Dictionary(grouping: cut.indices, by: { cut[$0] }).values {
      let first = names[alike[0]]
      let others = alike.filter { names[$0] != first }
      guard let same = others.map({ zip(first, names[$0]).prefix { $0 == $1 }.count }).min() else { continue }
      for index in alike {
        let tail = names[index].dropFirst(max(same - 3, width / 4))
        let head = max(width / 4, width - CellWidth.of(ellipsis) - CellWidth.of(tail))
        let start = names[index].prefix(count(names[index], head)) + ellipsis
        cut[index] = start + atEnd(String(tail), to: width - CellWidth.of(start), ellipsis: ellipsis)
      }
    }
    return cut
  }

  /// Short names of addresses: their ends, but the whole of those that end alike, cut so that they stay apart.
  package static func ends(of addresses: [String], to width: Int, ellipsis: String) -> [String: String] {
    let texts = Dictionary(addresses.map { ($0, TerminalText.sanitized($0)) }) { $1 }
    func end(_ text: String) -> String { text.split(separator: "/").last.map(String.init) ?? text }
    let alike = Dictionary(grouping: Set(texts.values), by: end)
    let names = texts.values.map { text in alike[end(text)]?.count == 1 ? end(text) : text }
    return Dictionary(uniqueKeysWithValues: zip(texts.keys, apart(names, to: width, ellipsis: ellipsis)))
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

/// Messages broken between words for a narrow window. What is to be copied (a command, an address below its cause)
/// stands alone on a line that is set in, which stays as it is.
package enum TextWrap {
  private static let indent = "    "

  /// `text` alone if it fits into so many columns.
  package static func lines(_ text: String, columns: Int) -> [String] {
    guard columns > 0, CellWidth.of(text) > columns, !text.hasPrefix(indent) else { return [text] }
    return wrapped(text, columns)
  }

  /// `text` in lines of so many cells: broken between words, and within one that is longer.
  static func filled(_ text: String, cells: Int) -> [String] {
    guard CellWidth.of(text) > cells else { return [text] }
    return wrapped(text, cells, behind: String(text.prefix { $0 == " " })).flatMap { line in
      var parts = [String]()
      var rest = line
      while CellWidth.of(rest) > cells, case let part = TextCut.atEnd(rest, to: cells, ellipsis: ""), !part.isEmpty {
        parts.append(part)
        rest.removeFirst(part.count)
      }
      return parts + [rest]
    }
  }

  /// - Parameter label: what the first line begins with, and as wide as the margin of the others; without one those are
  ///   indented.
  package static func wrapped(_ text: String, _ columns: Int, behind label: String? = nil) -> [String] {
    let start = label ?? String(text.prefix { $0 == " " })
    let margin = label.map { String(repeating: " ", count: $0.count) } ?? indent
    var lines: [String] = []
    var line = start
    for word in text.split(separator: " ") {
      let next = line == start ? line + word : line + " " + word
      if CellWidth.of(next) <= columns || line == start {
        line = next
      } else {
        lines.append(line)
        line = margin + word
      }
    }
    return lines + [line]
  }
}

/// How many cells of a terminal a text takes (Unicode 17, UAX #11, UTS #51). Where terminals differ about a rare
/// sequence, the modern reading is taken: one cluster, one glyph.
enum CellWidth {
  static func of(_ text: some StringProtocol) -> Int {
    if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
    let scalars = text.unicodeScalars
    return scalars.allSatisfy(isSimple) ? scalars.count : text.reduce(0) { $0 + of($1) }
  }

  /// ASCII, Box Drawing and Block Elements: a cell each, joined to nothing, without a look into the tables of Unicode.
  static func isSimple(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value < 0x80 || (0x2500..<0x25A0).contains(scalar.value)
  }

  /// 2 for wide characters, emoji (also by a variation selector) and flags; 0 for a mark with nothing to stand on.
  static func of(_ character: Character) -> Int {
    if character.isASCII { return 1 }
    let scalars = character.unicodeScalars
    guard let first = scalars.first else { return 0 }
    if scalars.count > 1, first.properties.isEmoji, scalars.contains(where: makesEmoji) { return 2 }
    if first.properties.isEmojiPresentation { return 2 }
    // Two letters of one cluster (Indic conjuncts) still take a cell each.
    return scalars.reduce(0) { $0 + of($1) }
  }

  private static func of(_ scalar: Unicode.Scalar) -> Int {
    if isZeroWidth(scalar) { return 0 }
    return scalar.value >= 0x1100 && wide.contains { $0.contains(scalar.value) } ? 2 : 1
  }

  /// The emoji variation selector, the joiner, skin tones, and the second letter of a flag.
  private static func makesEmoji(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0xFE0F, 0x200D, 0x1F3FB...0x1F3FF, 0x1F1E6...0x1F1FF: true
    default: false
    }
  }

  private static func isZeroWidth(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0xAD: return false  // Soft hyphen: terminals print it.
    case 0x600...0x605, 0x6DD, 0x70F, 0x890...0x891, 0x8E2: return false  // Arabic number signs are seen.
    case 0x1160...0x11FF, 0xD7B0...0xD7FF: return true  // Jamo that complete a syllable begun before.
    default: break
    }
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format, .control, .lineSeparator, .paragraphSeparator: return true
    default: return scalar.properties.isDefaultIgnorableCodePoint
    }
  }

  /// East_Asian_Width W and F without emoji. Gaps within a block are filled: what is unassigned there will be wide.
  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115F, 0x2329...0x232A, 0x2630...0x2637, 0x268A...0x268F, 0x2E80...0x303E, 0x3041...0xA4CF,
    0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF01...0xFF60,
    0xFFE0...0xFFE6, 0x16FE0...0x18DFF, 0x1AFF0...0x1B2FF, 0x1D300...0x1D376, 0x1F200...0x1F265,
    0x20000...0x2FFFD, 0x30000...0x3FFFD,
  ]
}
