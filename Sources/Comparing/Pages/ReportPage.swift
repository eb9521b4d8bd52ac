import TerminalProgress

/// The HTML page of a report. All inserted texts are markup already (`Markup.text`).
extension ReportPages {
  private static let curveHeight = 96.0

  /// One HTML page with all drawings and tables.
  package var html: String {
    let title = Markup.text(facts.headline)
    let scope = [facts.list, contents.scope].filter { !$0.isEmpty }.map(Markup.text).joined(separator: " · ")
    return """
      <!doctype html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
      script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">
      <meta name="referrer" content="no-referrer">
      <title>\(title)</title>
      <style>\(PageFrame.style + PagePalette.drawingStyle)</style>
      </head>
      <body>
      <main>
      <header>
      <p class="kind">\(contents.isComparison ? "Download modes compared" : "A download, file by file")</p>
      <h1>\(title)</h1>
      <p class="scope">\(scope)<br><time>\(Markup.text(facts.date))</time></p>
      </header>
      \(contents.isComparison ? times : "")\(contents.isDetailed ? files : "")\(numbers)\(notes)\(about)\
      </main>
      \(contents.isDetailed ? script : "")\
      </body>
      </html>

      """
  }

  // MARK: Sections

  private var times: String {
    let bars = SpeedBars(modes: contents.modes)
    let caption =
      contents.hasSeveralRuns
      ? "A bar is the median; below it a dot a run, from the fastest to the slowest." : "A bar a mode."
    let baseline = Markup.text(contents.baseline.map { "× is the speed, \($0.name) being 1." } ?? "")
    let drawing = Self.drawing(
      "bars", height: bars.totalHeight, title: "Time of each mode", words: bars.words, bars.markup)
    return Self.section(
      "time", "Time", "<p class=\"caption\">\(caption) \(baseline)</p>\n<figure>\(drawing)</figure>\n")
  }

  private var files: String {
    let axis =
      contents.isComparison
      ? "One time axis for all modes: equal lengths are equal times."
      : "A row a file, in the order in which they began."
    let phases = contents.phases.map { phase in
      let width = Markup.number(phase.height.part * 12)
      return Self.legend("<path class=\"row \(phase.style)\" stroke-width=\"\(width)\" d=\"M0 7h22\"/>", phase.name)
    }
    let failed = contents.anyFailed ? Self.legend("<path class=\"failed\" d=\"M11 1v12\"/>", "failed") : ""
    return Self.section(
      "files", "Where the time went",
      """
      <p class="caption" id="axis">\(axis)</p>
      <ul class="legend" aria-label="Phases of a file">
      \(phases.joined())\(failed)\
      </ul>
      <div class="runs \(contents.modes.count == 1 ? "one" : "many")">
      \(runs.joined())\
      </div>

      """)
  }

  /// - Parameter sample: a piece of a row, 22 by 14 pixels.
  private static func legend(_ sample: String, _ name: String) -> String {
    "<li><svg aria-hidden=\"true\" width=\"22\" height=\"14\">\(sample)</svg>\(name)</li>\n"
  }

  private var runs: [String] {
    let rates = contents.modes.map { RunCurve.throughput($0.details, on: contents.axis) }
    let atWork = contents.modes.map { RunCurve.filesAtWork($0.files, on: contents.axis) }
    let addresses = contents.modes.flatMap(\.files).map(\.address)
    let names = TextCut.ends(of: addresses, to: RunWaterfall.nameCells, ellipsis: "…")
    func count(_ files: Double) -> String { Markup.number((files * 10).rounded() / 10) }
    return contents.modes.enumerated().map { index, mode in
      let fall = RunWaterfall(files: mode.files, axis: contents.axis, alone: contents.isComparison ? mode.axis : nil)
      let name = Markup.text(mode.name)
      return """
        <section class="mode" aria-labelledby="m\(index)">
        <h3 id="m\(index)">\(name) <span>\(Markup.text(Quantity.measurement(mode.run.wall)))</span></h3>
        \(fall.names(names))\
        <div class="fall" data-run="\(index)" data-rows="\(Markup.number(fall.height))" \
        data-name="\(name)">\(Self.drawing(
          "fall\(index)", height: fall.totalHeight, title: "\(mode.name): its files over time",
          words: words(of: mode), fall.markup))</div>
        <p class="told"></p>
        \(curve("rate", "Throughput", of: index, in: rates, words: Quantity.rate))
        \(curve("work", "Files at work", of: index, in: atWork, words: count, unit: " at once"))
        </section>

        """
    }
  }

  /// A mode's curve below its title, with the scale of the highest curve of all modes.
  private func curve(
    _ id: String, _ title: String, of index: Int, in curves: [RunCurve], words: (Double) -> String, unit: String = ""
  ) -> String {
    let mode = contents.modes[index]
    let top = curves.map(\.peak).max() ?? 0
    let alone = contents.isComparison ? mode.axis : nil
    let axis = AxisDrawing(axis: contents.axis, height: Self.curveHeight, alone: alone, isLabelled: false)
    let drawing = Self.drawing(
      "\(id)\(index)", height: axis.height, title: "\(mode.name): \(title.lowercased()) over time",
      words: "Up to \(words(curves[index].peak))\(unit).",
      curves[index].markup(on: axis, top: top, label: words(top)))
    return "<h4>\(title)</h4>\n\(drawing)"
  }

  private func words(of mode: ReportContents.Mode) -> String {
    let shares = contents.phases.compactMap { phase in mode.perFile(phase).map { "\(phase.name) \($0)" } }
    return "\(Quantity.files(mode.files.count)) in \(Quantity.measurement(mode.run.wall)); "
      + "on average a file was \(shares.isEmpty ? "not seen" : shares.joined(separator: ", "))."
  }

  private var numbers: String {
    let heads = contents.modes.map { "<th scope=\"col\">\(Markup.text($0.name))</th>" }.joined()
    let rows = contents.measures.map { measure in
      "<tr><th scope=\"row\">\(Markup.text(measure.name))</th>"
        + measure.values.map { "<td>\(Markup.text($0))</td>" }.joined() + "</tr>\n"
    }
    return Self.section(
      "numbers", "Numbers",
      """
      <div class="scroll" role="region" aria-labelledby="h-numbers" tabindex="0">
      <table>
      <thead><tr><td></td>\(heads)</tr></thead>
      <tbody>
      \(rows.joined())\
      </tbody>
      </table>
      </div>

      """)
  }

  private var notes: String {
    if facts.notes.isEmpty { return "" }
    return Self.section("notes", "Notes", "<ul>\(facts.notes.map { "<li>\(Markup.text($0))</li>" }.joined())</ul>\n")
  }

  private var about: String {
    let command = facts.command.isEmpty ? "" : "<pre><code>\(Markup.text(facts.command))</code></pre>\n"
    let machine = facts.machine.map { "<div><dt>\(Markup.text($0.name))</dt><dd>\(Markup.text($0.value))</dd></div>" }
    let definitions = contents.definitions.map { "<p>\(Markup.text($0))</p>\n" }
    return Self.section(
      "about", "How it was measured",
      command + (machine.isEmpty ? "" : "<dl>\(machine.joined())</dl>\n") + definitions.joined())
  }

  /// - Parameter body: lines, each with its line end.
  private static func section(_ name: String, _ title: String, _ body: String) -> String {
    """
    <section class="\(name)" aria-labelledby="h-\(name)">
    <h2 id="h-\(name)">\(title)</h2>
    \(body)\
    </section>

    """
  }

  private var script: String {
    """
    <script type="application/json" id="rows">\(Markup.script(contents.rows))</script>
    <script>\(PageFrame.script)</script>

    """
  }

  private static func drawing(_ id: String, height: Double, title: String, words: String, _ body: String) -> String {
    """
    <svg role="img" aria-labelledby="\(id)-t \(id)-d" width="100%" height="\(Markup.number(height))">\
    <title id="\(id)-t">\(Markup.text(title))</title><desc id="\(id)-d">\(Markup.text(words))</desc>\(body)</svg>
    """
  }
}
