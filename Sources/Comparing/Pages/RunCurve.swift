import DownloadModel

/// A quantity of a run over time, in equal pieces of the time axis.
struct RunCurve {
  static let pieces = 160

  private(set) var values = [Double](repeating: 0, count: pieces)

  var peak: Double { values.max() ?? 0 }

  /// Bytes a second. The bytes of a transfer are spread evenly from its first byte to its end.
  static func throughput(_ run: RunDetails, on axis: TimeAxis) -> RunCurve {
    var curve = RunCurve()
    for transfer in run.transfers where transfer.bytes > 0 {
      let begin = run.begin(of: transfer)
      let first = begin + (transfer.firstByte ?? transfer.end)
      curve.spread(Double(transfer.bytes), from: first, to: begin + transfer.end, on: axis)
    }
    return curve
  }

  /// The number of files that were looked up, waiting, received and so on, averaged over each piece.
  static func filesAtWork(_ files: [FileTimeline], on axis: TimeAxis) -> RunCurve {
    var curve = RunCurve()
    for span in files.lazy.flatMap(\.spans) where span.phase != .queued {
      curve.spread(span.length / .seconds(1), from: span.begin, to: span.end, on: axis)
    }
    return curve
  }

  /// Spreads an amount evenly over a time; an empty time adds it to one piece.
  private mutating func spread(_ amount: Double, from begin: Duration, to end: Duration, on axis: TimeAxis) {
    let rate = amount / (axis.end / .seconds(1) / Double(Self.pieces))
    let first = max(0, begin / axis.end * Double(Self.pieces))
    let last = min(Double(Self.pieces), end / axis.end * Double(Self.pieces))
    guard last > first else {
      values[min(max(0, Int(first)), Self.pieces - 1)] += rate
      return
    }
    for piece in Int(first)..<min(Self.pieces, Int(last.rounded(.up))) {
      let part = min(last, Double(piece + 1)) - max(first, Double(piece))
      values[piece] += rate * part / (last - first)
    }
  }

  /// One step for each piece, up to the last that is above zero: the axis is `TimeAxis.units` wide, `top` 1,000 units
  /// high.
  func path(top: Double) -> String {
    let height = 1000
    let scale = top > 0 ? Double(height) / top : 0
    let count = values.lastIndex { $0 > 0 }.map { $0 + 1 } ?? 0
    var path = "M0 \(height)"
    var last = height
    for (index, value) in values.prefix(count).enumerated() {
      let y = height - Int((min(value * scale, Double(height))).rounded())
      if y == last { continue }
      path += "H\(index * TimeAxis.units / Self.pieces)V\(y)"
      last = y
    }
    return path + "H\(count * TimeAxis.units / Self.pieces)V\(height)Z"
  }

  func markup(on axis: AxisDrawing, top: Double, label: String) -> String {
    // The label is above the highest value.
    let headroom = 18.0
    return axis.markup
      + "<line class=\"grid\" x2=\"100%\" y1=\"\(Markup.number(headroom))\" y2=\"\(Markup.number(headroom))\"/>"
      + "<text class=\"soft end\" x=\"100%\" y=\"12\">\(Markup.text(label))</text>"
      + "<svg width=\"100%\" y=\"\(Markup.number(headroom))\" height=\"\(Markup.number(axis.height - headroom))\" "
      + "viewBox=\"0 0 \(TimeAxis.units) 1000\" preserveAspectRatio=\"none\">"
      + "<path class=\"area\" d=\"\(path(top: top))\"/></svg>"
  }
}
