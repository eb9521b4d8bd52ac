/// A row a file, in the order in which they began, on a time axis.
///
/// The shapes are a path a phase, in units of their own that the page stretches to its width: rows are 10 units high,
/// and a span is a horizontal line as thick as its phase says. So a thousand files take some tens of KiB, and no width
/// makes text small.
struct RunWaterfall {
  /// In pixels.
  static let axisHeight = 20.0
  /// Up to here each row has a title of its own.
  static let namedRows = 250
  private static let unitsPerRow = 10

  let files: [FileTimeline]
  let axis: TimeAxis

  /// Rows of 12 pixels for few files, and the fewer the more there are: 480 pixels for most runs, 750 at most.
  static func rowHeight(_ files: Int) -> Double {
    let files = Double(max(1, files))
    return min(12, max(480 / files, min(3, 750 / files)))
  }

  /// In pixels, without the axis.
  var height: Double { Self.rowHeight(files.count) * Double(max(1, files.count)) }

  /// A four-hundredth of the run, which is a pixel where it is the longest, or else a thousandth of the axis.
  private var leastLength: Int {
    max(TimeAxis.units / 1000, axis.place(files.map(\.end).max() ?? .zero) / 400)
  }

  /// The data of a phase's path: `m120 5h34m-12 10h7`, each span relative to the end of the one before, since that is
  /// shortest. Empty where no file has the phase.
  func path(_ phase: FilePhase) -> String {
    let leastLength = leastLength
    var path = ""
    var (x, y) = (0, 0)
    for (row, file) in files.enumerated() {
      for span in file.spans where span.phase == phase {
        // So that no file vanishes on a long axis, its longest work is drawn long enough to be seen.
        let least = span == Self.longestWork(of: file) ? leastLength : 1
        let begin = min(axis.place(span.begin), TimeAxis.units - least)
        let length = max(least, axis.place(span.end) - begin)
        let middle = row * Self.unitsPerRow + Self.unitsPerRow / 2
        path += "m\(begin - x) \(middle - y)h\(length)"
        (x, y) = (begin + length, middle)
      }
    }
    return path
  }

  private static func longestWork(of file: FileTimeline) -> FileTimeline.Span? {
    file.spans.filter { $0.phase != .queued }.max { $0.length < $1.length }
  }

  /// How thick a phase's lines are, in units.
  func thickness(_ phase: FilePhase) -> Double {
    let look = PhaseLook(phase)
    let unitsPerPixel = Double(Self.unitsPerRow) / Self.rowHeight(files.count)
    return max(look.height * Double(Self.unitsPerRow), look.leastPixels * unitsPerPixel)
  }

  /// A mark at the end of each file that failed.
  var failures: String {
    files.enumerated().filter { $0.element.hasFailed }.map { row, file in
      "M\(axis.place(file.end)) \(row * Self.unitsPerRow)v\(Self.unitsPerRow)"
    }.joined()
  }

  /// The whole drawing, to be put into an svg element of `totalHeight`.
  var markup: String {
    AxisDrawing(axis: axis, height: height).markup + shapes
  }

  var totalHeight: Double { height + Self.axisHeight }

  private var shapes: String {
    let rows = max(1, files.count) * Self.unitsPerRow
    var markup =
      "<svg width=\"100%\" height=\"\(Markup.number(height))\" viewBox=\"0 0 \(TimeAxis.units) \(rows)\" "
      + "preserveAspectRatio=\"none\">"
    for phase in FilePhase.allCases {
      let (path, look) = (path(phase), PhaseLook(phase))
      if path.isEmpty { continue }
      let width = Markup.number(thickness(phase))
      markup += "<path class=\"row \(look.style)\" stroke-width=\"\(width)\" d=\"\(path)\"/>"
    }
    let failures = failures
    if !failures.isEmpty { markup += "<path class=\"failed\" d=\"\(failures)\"/>" }
    if files.count <= Self.namedRows {
      for (row, file) in files.enumerated() {
        markup +=
          "<rect class=\"hit\" y=\"\(row * Self.unitsPerRow)\" width=\"\(TimeAxis.units)\" "
          + "height=\"\(Self.unitsPerRow)\"><title>\(Markup.text(Self.words(file)))</title></rect>"
      }
    }
    return markup + "</svg>"
  }

  /// A row in words: `http://host/a: queued 40 ms, receiving 12.5 ms`.
  static func words(_ file: FileTimeline) -> String {
    let times = TimeShares([file]).times
    let phases = FilePhase.allCases.compactMap { phase in
      times[phase].map { "\(PhaseLook(phase).name) \(ReportWords.milliseconds($0))" }
    }
    return "\(file.address): \(phases.joined(separator: ", "))\(file.hasFailed ? "; failed" : "")"
  }
}

/// The lines and labels of a time axis, under a drawing of some height.
struct AxisDrawing {
  let axis: TimeAxis
  let height: Double
  var ticks = 4
  var isLabelled = true

  /// In a group of its own, which the page's script draws anew for another time axis.
  var markup: String {
    let bottom = Markup.number(height)
    var markup = "<g class=\"axis\">"
    for tick in axis.ticks(atMost: ticks) {
      let x = axis.percentage(tick.time)
      markup += "<line class=\"grid\" x1=\"\(x)\" x2=\"\(x)\" y2=\"\(bottom)\"/>"
      guard isLabelled else { continue }
      // Near the edges a label stands beside its line, so that none is cut off, in a narrow column either.
      let part = tick.time / axis.end
      let anchor = part == 0 ? "" : part > 0.88 ? " end" : " middle"
      markup +=
        "<text class=\"soft\(anchor)\" x=\"\(x)\" y=\"\(Markup.number(height + 15))\">\(tick.label)</text>"
    }
    return markup + "</g><line class=\"grid\" x2=\"100%\" y1=\"\(bottom)\" y2=\"\(bottom)\"/>"
  }
}
