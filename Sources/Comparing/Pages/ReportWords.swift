import TerminalProgress

/// Quantities of a report as its readers see them.
enum ReportWords {
  /// What was not measured.
  static let missing = "–"

  static func time(_ time: Duration) -> String { Quantity.measurement(time) }

  /// Always in milliseconds, so that rows of a drawing can be compared: `0.42 ms`, `12.5 ms`, `1,240 ms`.
  static func milliseconds(_ time: Duration) -> String {
    let value = time / .milliseconds(1)
    let shown = value < 10 ? value : value < 100 ? (value * 10).rounded() / 10 : value.rounded()
    return (shown < 1000 ? Markup.number(shown) : Quantity.count(Int(min(shown, 1e15)))) + " ms"
  }

  static func percent(_ part: Double) -> String { "± \(Int(min(part * 100, 1e6).rounded())) %" }

  /// `5.2 ± 0.3`, or `5.2` where one run says nothing of its scatter; with two decimals where one would hide it, or
  /// says little: `0.48 ± 0.02`.
  static func factor(_ speed: RelativeSpeed) -> String {
    let isFine = speed.factor < 0.95 || speed.deviation.map { $0 > 0 && $0 < 0.05 } == true
    let parts = isFine ? 100 : 10
    return decimal(speed.factor, parts) + (speed.deviation.map { " ± \(decimal($0, parts))" } ?? "")
  }

  private static func decimal(_ value: Double, _ parts: Int) -> String {
    value.isFinite ? Quantity.decimal(value, parts) : missing
  }
}
