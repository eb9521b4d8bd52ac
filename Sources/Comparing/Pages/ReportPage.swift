import TerminalProgress

/// The HTML page. What is put into it is markup already: see `Markup.text`.
struct ReportPage {
  let contents: ReportContents
  let facts: ReportFacts

  private static let curveHeight = 96.0

  var html: String {
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
    let bars = contents.bars
    let caption =
      contents.hasSeveralRuns
      ? "A bar is the median; below it a dot a run, from the fastest to the slowest." : "A bar a mode."
    let baseline = Markup.text(contents.baseline.map { "× is the speed, \($0.name) being 1." } ?? "")
    let drawing = Self.drawing(
      "bars", height: bars.totalHeight, title: "Time of each mode", words: bars.words, bars.markup)
    return """
      <section aria-labelledby="h-time">
      <h2 id="h-time">Time</h2>
      <p class="caption">\(caption) \(baseline)</p>
      <figure>\(drawing)</figure>
      </section>

      """
  }

  private var files: String {
    let axis =
      contents.isComparison
      ? "One time axis for all modes: equal lengths are equal times."
      : "A row a file, in the order in which they began."
    let phases = contents.phases.map {
      Self.legend(PhaseSample(phase: $0).markup, PhaseLook($0).name)
    }
    let failed = contents.anyFailed ? Self.legend(PhaseSample.failed, "failed") : ""
    return """
      <section aria-labelledby="h-files">
      <h2 id="h-files">Where the time went</h2>
      <p class="caption" id="axis">\(axis)</p>
      <ul class="legend" aria-label="Phases of a file">
      \(phases.joined())\(failed)\
      </ul>
      <div class="runs \(contents.modes.count == 1 ? "one" : "many")">
      \(runs.joined())\
      </div>
      </section>

      """
  }

  private static func legend(_ sample: String, _ name: String) -> String {
    "<li><svg aria-hidden=\"true\" width=\"22\" height=\"14\">\(sample)</svg>\(name)</li>\n"
  }

  private var runs: [String] {
    let (throughputs, fastest) = contents.throughputs
    let (atWork, most) = contents.filesAtWork
    return contents.modes.enumerated().map { index, mode in
      let fall = contents.waterfall(mode)
      let throughput = throughputs[index].markup(
        on: contents.axis, top: fastest, label: Quantity.rate(fastest), height: Self.curveHeight)
      let work = atWork[index].markup(
        on: contents.axis, top: most, label: Markup.number((most * 10).rounded() / 10), height: Self.curveHeight)
      let name = Markup.text(mode.name)
      return """
        <section class="mode" aria-labelledby="m\(index)">
        <h3 id="m\(index)">\(name) <span>\(Markup.text(ReportWords.time(mode.run.wall)))</span></h3>
        <div class="fall" data-run="\(index)" data-rows="\(Markup.number(fall.height))" \
        data-name="\(name)">\(Self.drawing(
          "fall\(index)", height: fall.totalHeight, title: "\(mode.name): its files over time",
          words: words(of: mode), fall.markup))</div>
        <p class="told"></p>
        <h4>Throughput</h4>
        \(Self.drawing(
          "rate\(index)", height: Self.curveHeight, title: "\(mode.name): throughput over time",
          words: "Up to \(Quantity.rate(throughputs[index].peak)).", throughput))
        <h4>Files at work</h4>
        \(Self.drawing(
          "work\(index)", height: Self.curveHeight, title: "\(mode.name): files at work over time",
          words: "Up to \(Markup.number((atWork[index].peak * 10).rounded() / 10)) at a time.", work))
        </section>

        """
    }
  }

  private func words(of mode: ReportContents.Mode) -> String {
    let shares = contents.phases.compactMap { phase in
      mode.shares.times[phase].map {
        "\(PhaseLook(phase).name) \(ReportWords.milliseconds($0 / max(1, mode.files.count)))"
      }
    }
    return "\(Quantity.files(mode.files.count)) in \(ReportWords.time(mode.run.wall)); "
      + "on average a file was \(shares.isEmpty ? "not seen" : shares.joined(separator: ", "))."
  }

  private var numbers: String {
    let heads = contents.modes.map { "<th scope=\"col\">\(Markup.text($0.name))</th>" }.joined()
    let rows = contents.measures.map { measure in
      "<tr><th scope=\"row\">\(Markup.text(measure.name))</th>"
        + measure.values.map { "<td>\(Markup.text($0))</td>" }.joined() + "</tr>\n"
    }
    return """
      <section aria-labelledby="h-numbers">
      <h2 id="h-numbers">Numbers</h2>
      <div class="scroll" role="region" aria-labelledby="h-numbers" tabindex="0">
      <table>
      <thead><tr><td></td>\(heads)</tr></thead>
      <tbody>
      \(rows.joined())\
      </tbody>
      </table>
      </div>
      </section>

      """
  }

  private var notes: String {
    if facts.notes.isEmpty { return "" }
    return """
      <section aria-labelledby="h-notes">
      <h2 id="h-notes">Notes</h2>
      <ul class="notes">\(facts.notes.map { "<li>\(Markup.text($0))</li>" }.joined())</ul>
      </section>

      """
  }

  private var about: String {
    let command = facts.command.isEmpty ? "" : "<pre><code>\(Markup.text(facts.command))</code></pre>\n"
    let machine = facts.machine.map {
      "<div><dt>\(Markup.text($0.name))</dt><dd>\(Markup.text($0.value))</dd></div>"
    }
    return """
      <section class="about" aria-labelledby="h-about">
      <h2 id="h-about">How it was measured</h2>
      \(command)\(machine.isEmpty ? "" : "<dl>\(machine.joined())</dl>\n")\
      \(contents.definitions.map { "<p>\(Markup.text($0))</p>\n" }.joined())\
      </section>

      """
  }

  private var script: String {
    let data = WaterfallData(runs: contents.modes.map(\.files), ends: contents.modes.map(\.end), axis: contents.axis)
    return """
      <script type="application/json" id="rows">\(Markup.script(data.json))</script>
      <script>\(PageFrame.script)</script>

      """
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
