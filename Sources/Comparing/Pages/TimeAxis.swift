/// The time axis that drawings share: from the start of a run to the end of the longest.
struct TimeAxis: Equatable {
  /// The width of a drawing, whatever it is on the page: fine enough for an integer each.
  static let units = 10_000

  /// Never nothing, so that all can be divided by it.
  let end: Duration

  init(end: Duration) { self.end = max(end, .milliseconds(1)) }

  /// Where a time stands, from 0 to `units`; what is beyond the axis stands at its end.
  func place(_ time: Duration) -> Int { Int((min(max(time / end, 0), 1) * Double(Self.units)).rounded()) }

  /// The same as a percentage for an attribute: `12.5%`.
  func percentage(_ time: Duration) -> String { Markup.number(min(max(time / end, 0), 1) * 100) + "%" }

  /// Round times from 0 on: 1, 2 or 5 times a power of ten apart, and `count` of them at most beside the start.
  func ticks(atMost count: Int) -> [(time: Duration, label: String)] {
    let milliseconds = end / .milliseconds(1)
    let step = Self.step(milliseconds, atMost: count)
    // What is written is what is drawn: a label has no digit more than its step.
    let (scale, unit) = step >= 100 ? (1000.0, " s") : (1, " ms")
    let values = (0...count).map { Double($0) * step }.filter { $0 <= milliseconds * 1.000_001 }
    return values.map { (.milliseconds($0), $0 == 0 ? "0" : Markup.number($0 / scale) + unit) }
  }

  /// The smallest round step of which `count` reach the value.
  private static func step(_ value: Double, atMost count: Int) -> Double {
    var power = 1e-3
    while true {
      for digit in [1.0, 2, 5] where digit * power * Double(count + 1) > value { return digit * power }
      power *= 10
    }
  }
}
