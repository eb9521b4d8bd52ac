/// One row for each file, in the order in which they started, on a time axis. The shapes are one path for each phase,
/// in units that the page stretches to its width, so that a thousand files take some tens of KiB, and text never
/// shrinks.
struct RunWaterfall {
  /// In pixels.
  static let axisHeight = 20.0
  private static let unitsPerRow = 10

  let files: [FileTimeline]
  let axis: TimeAxis
  /// The axis of this run alone, which the page can show instead.
  var alone: TimeAxis?

  /// Rows of 12 to 16 pixels for few files, with their names, and lower rows for more: 480 pixels for most runs, at
  /// most 750.
  static func rowHeight(_ files: Int) -> Double {
    let count = Double(max(1, files))
    return files <= mostNames ? max(12, min(16, 480 / count)) : max(480 / count, min(3, 750 / count))
  }

  /// More names would overlap.
  private static let mostNames = 62
  static let nameCells = 20

  /// The files' names beside their rows; empty if the rows are too low for them.
  func names(_ names: [String: String]) -> String {
    guard files.count <= Self.mostNames else { return "" }
    let height = Markup.number(Self.rowHeight(files.count))
    return "<ol class=\"names\" aria-hidden=\"true\" style=\"line-height:\(height)px\">"
      + files.map { "<li>\(Markup.text(names[$0.address] ?? ""))</li>" }.joined() + "</ol>\n"
  }

  var height: Double { Self.rowHeight(files.count) * Double(max(1, files.count)) }

  /// The data of a phase's path, `m120 5h34m-12 10h7`: each span relative to the end of the one before; may be empty.
  func path(_ phase: FilePhase) -> String {
    // A four-hundredth of the run, which is a pixel if it is the longest, or else a thousandth of the axis.
    let leastLength = max(TimeAxis.units / 1000, axis.place(files.map(\.end).max() ?? .zero) / 400)
    var path = ""
    var x = 0
    var y = 0
    for (row, file) in files.enumerated() {
      for span in file.spans where span.phase == phase {
        // On a long axis, a file's longest work is drawn long enough to be visible.
        let least = span == Self.longestWork(of: file) ? leastLength : 1
        let begin = min(axis.place(span.begin), TimeAxis.units - least)
        let length = max(least, axis.place(span.end) - begin)
        let middle = row * Self.unitsPerRow + Self.unitsPerRow / 2
        path += "m\(begin - x) \(middle - y)h\(length)"
        x = begin + length
        y = middle
      }
    }
    return path
  }

  private static func longestWork(of file: FileTimeline) -> FileTimeline.Span? {
    file.spans.filter { $0.phase != .queued }.max { $0.length < $1.length }
  }

  func thickness(_ phase: FilePhase) -> Double {
    Double(Self.unitsPerRow) * max(phase.height.part, phase.height.least / Self.rowHeight(files.count))
  }

  var failures: String {
    files.enumerated().filter { $0.element.hasFailed }.map { row, file in
      "M\(axis.place(file.end)) \(row * Self.unitsPerRow)v\(Self.unitsPerRow)"
    }.joined()
  }

  var totalHeight: Double { height + Self.axisHeight }

  var markup: String {
    let rows = max(1, files.count) * Self.unitsPerRow
    var markup =
      AxisDrawing(axis: axis, height: height, alone: alone).markup
      + "<svg width=\"100%\" height=\"\(Markup.number(height))\" viewBox=\"0 0 \(TimeAxis.units) \(rows)\" "
      + "preserveAspectRatio=\"none\">"
    for phase in FilePhase.allCases {
      let path = path(phase)
      let style = phase.style
      let width = Markup.number(thickness(phase))
      if !path.isEmpty { markup += "<path class=\"row \(style)\" stroke-width=\"\(width)\" d=\"\(path)\"/>" }
    }
    let failures = failures
    if !failures.isEmpty { markup += "<path class=\"failed\" d=\"\(failures)\"/>" }
    return markup + "</svg>"
  }
}
