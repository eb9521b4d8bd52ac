import StrategyComparing
import TerminalProgress

/// One drawing that stands alone: the headline, the bars, the waterfalls side by side, and what their
/// phases are.
struct ReportPoster {
  let contents: ReportContents
  let facts: ReportFacts

  private static let width = 960.0
  private static let margin = 28.0
  private static let gap = 28.0
  private static let columns = 3

  var svg: String {
    let inner = Self.width - 2 * Self.margin
    var (body, y) = ("", Self.margin)
    for line in Self.wrapped(Markup.clean(facts.headline), at: 88) {
      body += text("title", Self.margin, y + 16, line)
      y += 26
    }
    let scope = [facts.list, contents.scope, facts.date].filter { !$0.isEmpty }.joined(separator: " · ")
    body += text("soft", Self.margin, y + 12, Self.cut(Markup.clean(scope), to: 130))
    y += 34
    if contents.isComparison {
      let bars = contents.bars
      body += nested(Self.margin, y, inner, bars.totalHeight, bars.markup)
      y += bars.totalHeight + 22
    }
    if contents.isDetailed {
      body += waterfalls(&y, inner)
      body += legend(y, inner)
      y += 20
    }
    let (width, height) = (Int(Self.width), Markup.number(y + Self.margin - 8))
    return """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width) \(height)" width="\(width)" \
      height="\(height)" role="img" aria-labelledby="t d">
      <title id="t">\(Markup.text(facts.headline))</title>
      <desc id="d">\(Markup.text(contents.bars.words))</desc>
      <style>\(PagePalette.drawingStyle)</style>
      <rect class="paper" width="100%" height="100%"/>
      \(body)
      </svg>

      """
  }

  private func waterfalls(_ y: inout Double, _ inner: Double) -> String {
    var markup = ""
    let modes = contents.modes
    let columns = min(Self.columns, modes.count)
    let width = (inner - Self.gap * Double(columns - 1)) / Double(columns)
    for start in stride(from: 0, to: modes.count, by: columns) {
      let row = modes[start..<min(start + columns, modes.count)]
      for (column, mode) in row.enumerated() {
        let x = Self.margin + Double(column) * (width + Self.gap)
        let fall = contents.waterfall(mode)
        markup += text("strong", x, y + 12, mode.name)
        markup += text("soft end", x + width, y + 12, ReportWords.time(mode.run.wall))
        markup += nested(x, y + 24, width, fall.totalHeight, fall.markup)
      }
      y += 24 + (row.map { contents.waterfall($0).totalHeight }.max() ?? 0) + 18
    }
    return markup
  }

  private func legend(_ y: Double, _ inner: Double) -> String {
    var samples = contents.phases.map { (PhaseSample(phase: $0).markup, PhaseLook($0).name) }
    if contents.anyFailed { samples.append((PhaseSample.failed, "failed")) }
    let step = inner / Double(FilePhase.allCases.count + 1)
    return samples.enumerated().map { index, sample in
      let x = Self.margin + Double(index) * step
      return "<svg x=\"\(Markup.number(x))\" y=\"\(Markup.number(y))\" width=\"22\" height=\"14\">"
        + sample.0 + "</svg>" + text("soft", x + 28, y + 11, sample.1)
    }.joined()
  }

  private func nested(_ x: Double, _ y: Double, _ width: Double, _ height: Double, _ body: String) -> String {
    "<svg x=\"\(Markup.number(x))\" y=\"\(Markup.number(y))\" width=\"\(Markup.number(width))\" "
      + "height=\"\(Markup.number(height))\" overflow=\"visible\">\(body)</svg>\n"
  }

  private func text(_ style: String, _ x: Double, _ y: Double, _ text: String) -> String {
    "<text class=\"\(style)\" x=\"\(Markup.number(x))\" y=\"\(Markup.number(y))\">\(Markup.text(text))</text>"
  }

  /// A text in lines of `width` characters at most, broken between words; longer words stand alone.
  static func wrapped(_ text: String, at width: Int) -> [String] {
    var lines: [String] = []
    for word in text.split(separator: " ") {
      let word = cut(String(word), to: width)
      if let last = lines.last, last.count + 1 + word.count <= width {
        lines[lines.count - 1] = "\(last) \(word)"
      } else {
        lines.append(word)
      }
    }
    return lines
  }

  private static func cut(_ text: String, to width: Int) -> String {
    text.count <= width ? text : "\(text.prefix(width - 1))…"
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
