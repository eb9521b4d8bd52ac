import TerminalProgress

/// One bar for each mode, as long as its median time; below it a dot for each run, and a line from the fastest to the
/// slowest.
struct SpeedBars {
  static let barHeight = 62.0

  let modes: [ReportContents.Mode]

  var axis: TimeAxis { TimeAxis(end: modes.map(\.result.times.maximum).max() ?? .zero) }
  var height: Double { Double(modes.count) * Self.barHeight }
  var totalHeight: Double { height + RunWaterfall.axisHeight }

  var markup: String {
    let axis = axis
    var markup = AxisDrawing(axis: axis, height: height, ticks: 5).markup
    for (index, mode) in modes.enumerated() {
      let top = Double(index) * Self.barHeight
      let times = mode.result.times
      func y(_ offset: Double) -> String { Markup.number(top + offset) }
      markup +=
        "<text class=\"strong\" y=\"\(y(16))\">\(Markup.text(mode.name))</text>"
        + "<text class=\"end\" x=\"100%\" y=\"\(y(16))\">\(Markup.text(mode.label))</text>"
        + "<rect class=\"bar\(mode.hasWon ? " won" : "")\" y=\"\(y(23))\" rx=\"2\" "
        + "width=\"\(axis.percentage(times.median))\" height=\"13\"/>"
      guard times.count > 1 else { continue }
      let left = axis.percentage(times.minimum)
      let right = axis.percentage(times.maximum)
      markup += "<line class=\"spread\" x1=\"\(left)\" x2=\"\(right)\" y1=\"\(y(45))\" y2=\"\(y(45))\"/>"
      for end in [left, right] {
        markup += "<line class=\"spread\" x1=\"\(end)\" x2=\"\(end)\" y1=\"\(y(40))\" y2=\"\(y(50))\"/>"
      }
      for run in mode.result.runs {
        markup += "<circle class=\"run\" cx=\"\(axis.percentage(run.wall))\" cy=\"\(y(45))\" r=\"3\"/>"
      }
    }
    return markup
  }

  /// The same as text, for screen readers.
  var words: String {
    modes.map { mode in
      let times = mode.result.times
      guard times.count > 1 else { return "\(mode.name): \(mode.label)." }
      let range = "from \(Quantity.measurement(times.minimum)) to \(Quantity.measurement(times.maximum))"
      return "\(mode.name): \(mode.label); \(times.count) runs \(range)."
    }.joined(separator: " ")
  }
}
