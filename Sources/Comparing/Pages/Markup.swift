import DownloadModel
import TerminalProgress

enum Markup {
  /// Escapes text from outside for a place between tags or in a quoted attribute. By scalars, because a quote and a
  /// combining mark are one Character, which does not count as a quote.
  static func text(_ text: some StringProtocol) -> String {
    replacing(["<": "&lt;", ">": "&gt;", "&": "&amp;", "\"": "&quot;", "'": "&#39;"], in: clean(text))
  }

  /// Text without secrets and without invisible characters. XML 1.0 §2.2 also forbids U+FFFE and U+FFFF.
  static func clean(_ text: some StringProtocol) -> String {
    let text = TerminalText.sanitized(text)
    return String(String.UnicodeScalarView(text.unicodeScalars.filter { $0.value & 0xFFFE != 0xFFFE }))
  }

  /// JSON for a script element, which `</script` and `<!--` would end or change.
  static func script(_ json: JSONValue) -> String {
    replacing(["<": "\\u003c", ">": "\\u003e", "&": "\\u0026"], in: json.text)
  }

  private static func replacing(_ standIns: [Unicode.Scalar: String], in text: String) -> String {
    text.unicodeScalars.reduce(into: "") { markup, scalar in
      markup += (scalar.value < 0x40 ? standIns[scalar] : nil) ?? String(scalar)
    }
  }

  /// With two decimals at most: `12`, `0.5`, `3.25`; 0 for negative values and for values that are no number.
  static func number(_ value: Double) -> String {
    var text = Quantity.decimal(value.isFinite ? value : 0, 100)[...]
    while text.last == "0" { text.removeLast() }
    return String(text.last == "." ? text.dropLast() : text)
  }

  /// Always in milliseconds, so that rows can be compared: `0.42 ms`, `12.5 ms`, `1,240 ms`.
  static func milliseconds(_ time: Duration) -> String {
    let value = time / .milliseconds(1)
    let shown = value < 10 ? value : value < 100 ? (value * 10).rounded() / 10 : value.rounded()
    return (shown < 1000 ? number(shown) : Quantity.count(Int(min(shown, 1e15)))) + " ms"
  }
}
