/// The time axis that drawings share: from the start of a run to the end of the longest.
struct TimeAxis: Equatable {
  /// A drawing is this many units wide, whatever its width on the page: fine enough for an integer each.
  static let units = 10_000

  /// Never nothing, so that all can be divided by it.
  let end: Duration

  init(end: Duration) { self.end = max(end, .milliseconds(1)) }

  /// Where a time stands, from 0 to `units`; what is beyond the axis stands at its end.
  func place(_ time: Duration) -> Int {
    Int((min(max(time / end, 0), 1) * Double(Self.units)).rounded())
  }

  /// The same as a percentage for an attribute: `12.5%`.
  func percentage(_ time: Duration) -> String { Markup.number(min(max(time / end, 0), 1) * 100) + "%" }

  struct Tick: Equatable {
    let time: Duration
    let label: String
  }

  /// Round times from 0 on: 1, 2 or 5 times a power of ten apart, so that there are `count` of them at most, beside
  /// that of the start.
  func ticks(atMost count: Int) -> [Tick] {
    let milliseconds = end / .milliseconds(1)
    let step = Self.step(milliseconds, atMost: max(1, count))
    // What is written is what is drawn: a label has no digit more than its step.
    let isInSeconds = step >= 100
    return (0...max(1, count)).compactMap { index in
      let value = Double(index) * step
      guard value <= milliseconds * 1.000_001 else { return nil }
      let label =
        index == 0 ? "0" : Markup.number(isInSeconds ? value / 1000 : value) + (isInSeconds ? " s" : " ms")
      return Tick(time: .milliseconds(value), label: label)
    }
  }

  /// The smallest round step of which `count` reach the value.
  static func step(_ value: Double, atMost count: Int) -> Double {
    var power = 1e-3
    while true {
      for digit in [1.0, 2, 5] where digit * power * Double(count + 1) > value { return digit * power }
      power *= 10
    }
  }
}
