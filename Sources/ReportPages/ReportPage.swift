import Mustache
import StrategyComparing
import TerminalProgress

/// The HTML page: the contents, put into the frame of `PageFrame`.
struct ReportPage {
  let contents: ReportContents
  let facts: ReportFacts

  private static let curveHeight = 96.0

  func html() throws(ReportFailure) -> String {
    do {
      return try MustacheTemplate(string: PageFrame.template).render(values)
    } catch {
      throw .badTemplate(String(describing: error))
    }
  }

  /// What the frame names. All of it is markup: see `Markup.text`.
  private var values: [String: Any] {
    let scope = [facts.list, contents.scope].filter { !$0.isEmpty }
    return [
      "title": Markup.text(facts.headline),
      "kind": contents.isComparison ? "Download modes compared" : "A download, file by file",
      "headline": Markup.text(facts.headline),
      "scope": scope.map(Markup.text).joined(separator: " · "),
      "date": Markup.text(facts.date),
      "style": PageFrame.style + PagePalette.drawingStyle,
      "script": PageFrame.script,
      "bars": contents.isComparison ? [bars] : [],
      "detailed": contents.isDetailed,
      "phases": contents.phases.map { phase in
        ["sample": PhaseSample(phase: phase).markup, "name": PhaseLook(phase).name]
      },
      "anyFailed": contents.anyFailed,
      "axis": contents.isComparison
        ? "One time axis for all modes: equal lengths are equal times."
        : "A row a file, in the order in which they began.",
      "columns": contents.modes.count == 1 ? "one" : "many",
      "runs": contents.isDetailed ? runs : [],
      "data": Markup.script(
        WaterfallData(
          runs: contents.modes.map(\.files), ends: contents.modes.map(\.end), axis: contents.axis
        ).json),
      "heads": contents.modes.map { ["name": Markup.text($0.name)] },
      "measures": contents.measures.map { measure in
        [
          "name": Markup.text(measure.name), "values": measure.values.map { ["value": Markup.text($0)] },
        ] as [String: Any]
      },
      "notes": facts.notes.isEmpty ? [] : [["items": facts.notes.map { ["text": Markup.text($0)] }]],
      "command": facts.command.isEmpty ? [] : [["text": Markup.text(facts.command)]],
      "machine": facts.machine.isEmpty
        ? []
        : [["items": facts.machine.map { ["name": Markup.text($0.name), "value": Markup.text($0.value)] }]],
      "definitions": contents.definitions.map { ["text": Markup.text($0)] },
    ]
  }

  private var bars: [String: Any] {
    let bars = contents.bars
    return [
      "caption": contents.hasSeveralRuns
        ? "A bar is the median; below it a dot a run, from the fastest to the slowest."
        : "A bar a mode.",
      "baseline": Markup.text(contents.baseline.map { "× is the speed, \($0.name) being 1." } ?? ""),
      "drawing": Self.drawing(
        "bars", height: bars.totalHeight, title: "Time of each mode", words: bars.words, bars.markup),
    ]
  }

  private var runs: [[String: Any]] {
    let (throughputs, fastest) = contents.throughputs
    let (atWork, most) = contents.filesAtWork
    return contents.modes.enumerated().map { index, mode in
      let fall = contents.waterfall(mode)
      let shares = contents.phases.compactMap { phase in
        mode.shares.times[phase].map {
          "\(PhaseLook(phase).name) \(ReportWords.milliseconds($0 / max(1, mode.files.count)))"
        }
      }
      let throughput = throughputs[index].markup(
        on: contents.axis, top: fastest, label: Quantity.rate(fastest), height: Self.curveHeight)
      let work = atWork[index].markup(
        on: contents.axis, top: most, label: Markup.number((most * 10).rounded() / 10),
        height: Self.curveHeight)
      return [
        "name": Markup.text(mode.name), "index": index,
        "time": Markup.text(ReportWords.time(mode.run.wall)),
        "count": ReportWords.plural(mode.files.count, "file", "files"),
        "fall": Self.drawing(
          "fall\(index)", height: fall.totalHeight, title: "\(mode.name): its files over time",
          words: "\(ReportWords.plural(mode.files.count, "file", "files")) in "
            + "\(ReportWords.time(mode.run.wall)); on average a file was "
            + "\(shares.isEmpty ? "not seen" : shares.joined(separator: ", ")).", fall.markup),
        "rows": Markup.number(fall.height),
        "throughput": Self.drawing(
          "rate\(index)", height: Self.curveHeight, title: "\(mode.name): throughput over time",
          words: "Up to \(Quantity.rate(throughputs[index].peak)).", throughput),
        "work": Self.drawing(
          "work\(index)", height: Self.curveHeight, title: "\(mode.name): files at work over time",
          words: "Up to \(Markup.number((atWork[index].peak * 10).rounded() / 10)) at a time.", work),
      ]
    }
  }

  private static func drawing(
    _ id: String, height: Double, title: String, words: String, _ body: String
  ) -> String {
    """
    <svg role="img" aria-labelledby="\(id)-t \(id)-d" width="100%" height="\(Markup.number(height))">\
    <title id="\(id)-t">\(Markup.text(title))</title><desc id="\(id)-d">\(Markup.text(words))</desc>\(body)</svg>
    """
  }
}

/// A piece of a row in a phase's colour and height, for a legend: 22 by 14 pixels.
struct PhaseSample {
  static let failed = "<path class=\"failed\" d=\"M11 1v12\"/>"

  let phase: FilePhase

  var markup: String {
    let look = PhaseLook(phase)
    return
      "<path class=\"row \(look.style)\" stroke-width=\"\(Markup.number(look.height * 12))\" d=\"M0 7h22\"/>"
  }
}
