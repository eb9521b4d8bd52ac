/// The lines and labels of a time axis, under a drawing of a given height.
struct AxisDrawing {
  let axis: TimeAxis
  let height: Double
  /// The axis of this mode alone, which the page can show instead.
  var alone: TimeAxis?
  var ticks = 3
  var isLabelled = true

  var markup: String {
    let bottom = Markup.number(height)
    return lines(axis, style: "axis\(alone == nil ? "" : " shared")")
      + (alone.map { lines($0, style: "axis alone") } ?? "")
      + "<line class=\"grid\" x2=\"100%\" y1=\"\(bottom)\" y2=\"\(bottom)\"/>"
  }

  private func lines(_ axis: TimeAxis, style: String) -> String {
    let lines = axis.ticks(atMost: ticks).map { tick in
      let x = axis.percentage(tick.time)
      let line = "<line class=\"grid\" x1=\"\(x)\" x2=\"\(x)\" y2=\"\(Markup.number(height))\"/>"
      guard isLabelled else { return line }
      // Near the edges a label is beside its line, so that it is not cut off, even in a narrow column.
      let part = tick.time / axis.end
      let anchor = part == 0 ? "" : part > 0.88 ? " end" : " middle"
      return line + "<text class=\"soft\(anchor)\" x=\"\(x)\" y=\"\(Markup.number(height + 15))\">\(tick.label)</text>"
    }
    return "<g class=\"\(style)\">\(lines.joined())</g>"
  }
}
