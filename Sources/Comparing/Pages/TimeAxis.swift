/// The time axis that drawings share: from the start of a run to the end of the longest.
struct TimeAxis {
  /// The width of a drawing in its own units, whatever it is on the page: fine enough for integers.
  static let units = 10_000

  /// Never zero, so that times can be divided by it.
  let end: Duration

  init(end: Duration) { self.end = max(end, .milliseconds(1)) }

  /// The position of a time, from 0 to `units`; later times are at the end of the axis.
  func place(_ time: Duration) -> Int { Int((min(max(time / end, 0), 1) * Double(Self.units)).rounded()) }

  /// The same as a percentage for an attribute: `12.5%`.
  func percentage(_ time: Duration) -> String { Markup.number(min(max(time / end, 0), 1) * 100) + "%" }

  /// Round times from 0: 1, 2 or 5 times a power of ten apart, at most `count` of them beside the start.
  func ticks(atMost count: Int) -> [(time: Duration, label: String)] {
    let milliseconds = end / .milliseconds(1)
    let step = Self.step(milliseconds, atMost: count)
    // Labels show exactly the drawn values: a label has no more digits than its step.
    let (scale, unit) = step >= 100 ? (1000.0, " s") : (1, " ms")
    let values = (0...count).map { Double($0) * step }.filter { $0 <= milliseconds * 1.000_001 }
    return values.map { (.milliseconds($0), $0 == 0 ? "0" : Markup.number($0 / scale) + unit) }
  }

  /// The smallest round step with which `count` steps reach the value.
  private static func step(_ value: Double, atMost count: Int) -> Double {
    var power = 1e-3
    while true {
      for digit in [1.0, 2, 5] where digit * power * Double(count + 1) > value { return digit * power }
      power *= 10
    }
  }
}
