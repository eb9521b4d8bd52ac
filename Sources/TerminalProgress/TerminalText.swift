import DownloadModel

/// Text from outside (names, server messages, lines of a list), made harmless for a terminal.
public enum TerminalText {
  /// The one function before every text for a person: secrets taken out (`Redaction`), then every character that acts on
  /// a terminal or hides from the eye: control characters (C0, DEL, C1), so that no escape sequence can start, bidi
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
      default: if !isHarmful(scalar) { scalars.append(scalar) }
      }
    }
    return String(scalars)
  }

  /// Whether a scalar must not reach a terminal as it is. The joiners U+200C and U+200D may: scripts and emoji need them.
  static func isHarmful(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x20...0x7E: false
    case 0x00...0x1F, 0x7F...0x9F: true
    case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true  // Bidi controls.
    case 0x2028, 0x2029: true  // Line ends.
    case 0x180E, 0x200B, 0x2060...0x2064, 0x206A...0x206F: true  // Seen by nobody.
    case 0xFEFF, 0xFFF9...0xFFFB: true  // Byte order mark; interlinear annotation hides text.
    case 0xE0000...0xE007F: true  // Tags: a second, unseen alphabet.
    default: false
    }
  }

  /// The text without %-escapes (RFC 3986 §2.1); what is no UTF-8 becomes U+FFFD. For the eye only.
  static func percentDecoded(_ text: some StringProtocol) -> String {
    guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
    let source = Array(text.utf8)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(source.count)
    var index = 0
    while index < source.count {
      if source[index] == UInt8(ascii: "%"), index + 2 < source.count,
        let high = hexDigit(source[index + 1]), let low = hexDigit(source[index + 2])
      {
        bytes.append(high << 4 | low)
        index += 3
      } else {
        bytes.append(source[index])
        index += 1
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func hexDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
