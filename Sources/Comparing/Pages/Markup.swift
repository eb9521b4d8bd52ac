import DownloadModel
import TerminalProgress

/// Text and numbers as HTML and SVG want them.
enum Markup {
  /// Text from outside for a place between tags or in a quoted attribute.
  ///
  /// By scalars, because a quote and a combining mark behind it are one Character, which is no quote.
  static func text(_ text: some StringProtocol) -> String {
    replacing(["<": "&lt;", ">": "&gt;", "&": "&amp;", "\"": "&quot;", "'": "&#39;"], in: clean(text))
  }

  /// Text without secrets and without what hides from the eye. XML 1.0 §2.2 knows no U+FFFE and U+FFFF either.
  static func clean(_ text: some StringProtocol) -> String {
    let text = TerminalText.sanitized(text)
    guard text.unicodeScalars.contains(where: { $0.value & 0xFFFE == 0xFFFE }) else { return text }
    var scalars = String.UnicodeScalarView()
    scalars.append(contentsOf: text.unicodeScalars.filter { $0.value & 0xFFFE != 0xFFFE })
    return String(scalars)
  }

  /// JSON for the inside of a script element, which `</script` and `<!--` would end or change.
  static func script(_ json: JSONValue) -> String {
    replacing(["<": "\\u003c", ">": "\\u003e", "&": "\\u0026"], in: json.text)
  }

  private static func replacing(_ standIns: [Unicode.Scalar: String], in text: String) -> String {
    var markup = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      if scalar.value < 0x40, let standIn = standIns[scalar] {
        markup.append(contentsOf: standIn.unicodeScalars)
      } else {
        markup.append(scalar)
      }
    }
    return String(markup)
  }

  /// A number with two decimals at most, and none that say nothing: `12`, `0.5`, `-3.25`.
  static func number(_ value: Double) -> String {
    guard value.isFinite else { return "0" }
    let hundredths = Int((min(max(value, -1e12), 1e12) * 100).rounded())
    let (whole, rest) = (abs(hundredths) / 100, abs(hundredths) % 100)
    var text = hundredths < 0 ? "-\(whole)" : "\(whole)"
    if rest > 0 {
      text += rest < 10 ? ".0\(rest)" : ".\(rest)"
      if rest % 10 == 0 { text.removeLast() }
    }
    return text
  }
}
