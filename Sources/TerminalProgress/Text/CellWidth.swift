/// The number of terminal cells that a text takes (Unicode 17, UAX #11, UTS #51). If terminals differ about a rare
/// sequence, the modern rule applies: one cluster, one glyph.
package enum CellWidth {
  package static func of(_ text: some StringProtocol) -> Int {
    if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
    let scalars = text.unicodeScalars
    return scalars.allSatisfy(isSimple) ? scalars.count : text.reduce(0) { $0 + of($1) }
  }

  /// ASCII, Box Drawing and Block Elements: one cell each, never combined, without a look-up in the Unicode tables.
  static func isSimple(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value < 0x80 || (0x2500..<0x25A0).contains(scalar.value)
  }

  /// 2 for wide characters, emoji (also by a variation selector) and flags; 0 for a mark without a base.
  static func of(_ character: Character) -> Int {
    if character.isASCII { return 1 }
    let scalars = character.unicodeScalars
    guard let first = scalars.first else { return 0 }
    if scalars.count > 1, first.properties.isEmoji, scalars.contains(where: makesEmoji) { return 2 }
    if first.properties.isEmojiPresentation { return 2 }
    // Two letters of one cluster (Indic conjuncts) still take one cell each.
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
    case 0x600...0x605, 0x6DD, 0x70F, 0x890...0x891, 0x8E2: return false  // Arabic number signs are visible.
    case 0x1160...0x11FF, 0xD7B0...0xD7FF: return true  // Jamo that complete an earlier syllable.
    default: break
    }
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format, .control, .lineSeparator, .paragraphSeparator: return true
    default: return scalar.properties.isDefaultIgnorableCodePoint
    }
  }

  /// East_Asian_Width W and F without emoji. Gaps within a block are filled: characters assigned there later will be
  /// wide.
  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115F, 0x2329...0x232A, 0x2630...0x2637, 0x268A...0x268F, 0x2E80...0x303E, 0x3041...0xA4CF,
    0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF01...0xFF60,
    0xFFE0...0xFFE6, 0x16FE0...0x18DFF, 0x1AFF0...0x1B2FF, 0x1D300...0x1D376, 0x1F200...0x1F265,
    0x20000...0x2FFFD, 0x30000...0x3FFFD,
  ]
}
