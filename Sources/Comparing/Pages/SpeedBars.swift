/// A bar a mode as long as its median time, and below it a dot for each run, and a line from the fastest to the
/// slowest.
struct SpeedBars {
  static let barHeight = 62.0

  struct Bar: Equatable {
    let name: String
    let label: String
    let median: Duration
    let runs: [Duration]
    let hasWon: Bool
  }

  let bars: [Bar]

  var axis: TimeAxis { TimeAxis(end: bars.flatMap { $0.runs + [$0.median] }.max() ?? .zero) }
  var height: Double { Double(bars.count) * Self.barHeight }
  var totalHeight: Double { height + RunWaterfall.axisHeight }

  var markup: String {
    let axis = axis
    var markup = AxisDrawing(axis: axis, height: height, ticks: 5).markup
    for (index, bar) in bars.enumerated() {
      let top = Double(index) * Self.barHeight
      func y(_ offset: Double) -> String { Markup.number(top + offset) }
      markup +=
        "<text class=\"strong\" y=\"\(y(16))\">\(Markup.text(bar.name))</text>"
        + "<text class=\"end\" x=\"100%\" y=\"\(y(16))\">\(Markup.text(bar.label))</text>"
        + "<rect class=\"bar\(bar.hasWon ? " won" : "")\" y=\"\(y(23))\" rx=\"2\" "
        + "width=\"\(axis.percentage(bar.median))\" height=\"13\"/>"
      guard bar.runs.count > 1, let least = bar.runs.min(), let most = bar.runs.max() else { continue }
      let (left, right) = (axis.percentage(least), axis.percentage(most))
      markup += "<line class=\"spread\" x1=\"\(left)\" x2=\"\(right)\" y1=\"\(y(45))\" y2=\"\(y(45))\"/>"
      for end in [left, right] {
        markup += "<line class=\"spread\" x1=\"\(end)\" x2=\"\(end)\" y1=\"\(y(40))\" y2=\"\(y(50))\"/>"
      }
      for run in bar.runs {
        markup += "<circle class=\"run\" cx=\"\(axis.percentage(run))\" cy=\"\(y(45))\" r=\"3\"/>"
      }
    }
    return markup
  }

  /// The same in words, for those who do not see it.
  var words: String {
    bars.map { bar in
      guard bar.runs.count > 1, let least = bar.runs.min(), let most = bar.runs.max() else {
        return "\(bar.name): \(bar.label)."
      }
      let range = "from \(ReportWords.time(least)) to \(ReportWords.time(most))"
      return "\(bar.name): \(bar.label); \(bar.runs.count) runs \(range)."
    }.joined(separator: " ")
  }
}
