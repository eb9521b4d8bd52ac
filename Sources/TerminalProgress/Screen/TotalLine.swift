import DownloadModel

/// The last line of the region: the whole run, in the columns of the rows above it.
struct TotalLine: LaidOut {
  struct Content {
    var progress: RunProgress
    /// The position of the bar of an unknown length.
    var step: Int
    var rate: Double
    var timeLeft: Duration?
    var isPaused = false
    /// Files at a time, if the user changed the number during the run.
    var width: Int?
    /// Whether sizes were estimated for `timeLeft`.
    var isEstimate = false
    /// Whether the run waits for a list to give more: then bar and speed say nothing.
    var isWaiting = false
  }

  let layout: FrameLayout
  private var columns: RowColumns { layout.columns }

  func line(_ content: Content) -> CellLine { columns.hasRate ? inColumns(content) : inParts(content) }

  private func inColumns(_ content: Content) -> CellLine {
    var line = layout.line("")
    let progress = content.progress
    appendLabel(content, to: &line)
    if content.isWaiting { return line }
    let unknown = progress.bytes > 0 ? ProgressBar.Extent.moving(step: content.step) : .part(0)
    layout.appendBar(progress.fraction.map { .part($0) } ?? unknown, to: &line, glyphs.totalBar, .done)
    layout.appendPercent(progress.fraction, to: &line)
    let bytes = FileProgress(position: progress.bytes, start: 0, total: progress.totalBytes)
    layout.appendBytes(bytes, isKnown: true, isEstimate: progress.unknownSizes > 0, to: &line)
    layout.appendRate(content.rate, to: &line)
    guard columns.hasTime else { return line }
    line.leaveGap()
    line.append(time(content) ?? "", right: RowColumns.timeWidth)
    return line
  }

  /// The parts that fit into a narrow window, the most important first.
  private func inParts(_ content: Content) -> CellLine {
    let progress = content.progress
    let counts = counts(content.progress.tally)
    var parts: [(String, Tone)] = [(counts, .strong)]
    if content.isPaused { parts.append(("paused", .retry)) }
    if progress.tally.failed > 0 {
      let room = usable - RowColumns.indent - CellWidth.of(counts + glyphs.separator)
      let long = failed(progress.tally)
      let text = CellWidth.of(long) <= room ? long : glyphs.failed + Quantity.count(progress.tally.failed)
      parts.append((text, .failed))
    }
    if let fraction = progress.fraction, !content.isWaiting { parts.append(("\(Int(fraction * 100))%", .plain)) }
    if let left = time(content) { parts.append((left, .dim)) }
    if !content.isWaiting { parts.append((Quantity.rate(content.rate), .plain)) }
    if let width = content.width { parts.append((Self.width(width), .dim)) }
    var line = layout.line
    for (text, tone) in parts {
      let lead = line.width == 0 ? String(repeating: " ", count: RowColumns.indent) : glyphs.separator
      guard line.width + CellWidth.of(lead + text) <= usable else { break }
      line.append(lead, .dim)
      line.append(text, tone)
    }
    return line
  }

  /// The longest wording that fits its column: short numbers are better than cut ones.
  private func appendLabel(_ content: Content, to line: inout CellLine) {
    let tally = content.progress.tally
    let end = line.width + columns.name
    let full = counts(tally, hasWord: true)
    let counts = counts(tally)
    let failed = failed(tally)
    func plain(_ text: String) -> String { text.filter { $0 != "," } }
    var wordings = [
      (full, failed), (counts, failed), (plain(counts), plain(failed)),
      (plain(counts), glyphs.failed + "\(tally.failed)"),
    ]
    // The effects of keys have priority over words that are easy to guess.
    let said = [content.isPaused ? "paused" : nil, content.width.map(Self.width)].compactMap(\.self)
    if !said.isEmpty {
      let all = glyphs.separator + said.joined(separator: glyphs.separator)
      let long = [full, counts, plain(counts)].map { ($0 + all, failed) }
      wordings = long + [(plain(counts) + glyphs.separator + said[0], plain(failed))] + wordings
    }
    let hasFailed = tally.failed > 0
    func width(_ wording: (String, String)) -> Int {
      CellWidth.of(wording.0) + (hasFailed ? CellWidth.of(glyphs.separator + wording.1) : 0)
    }
    let wording = wordings.first { width($0) <= columns.name } ?? wordings[wordings.count - 1]
    line.append(wording.0, upTo: end, .strong)
    if hasFailed {
      line.append(glyphs.separator, upTo: end, ellipsis: "", .dim)
      line.append(wording.1, upTo: end, ellipsis: "", .failed)
    }
    line.pad(to: end)
  }

  private func counts(_ tally: ProgressTally, hasWord: Bool = false) -> String {
    if tally.listed == 0, !tally.listIsComplete { return "starting" }
    let all = (tally.listIsComplete ? "" : glyphs.atLeast) + Quantity.count(tally.listed)
    let word = tally.listed == 1 && tally.listIsComplete ? " file" : " files"
    return "\(Quantity.count(tally.done))/\(all)\(hasWord ? word : "")"
  }

  private static func width(_ count: Int) -> String { "\(Quantity.count(count)) at once" }

  private func failed(_ tally: ProgressTally) -> String { Quantity.count(tally.failed) + " failed" }

  private func time(_ content: Content) -> String? {
    content.timeLeft.map { (content.isEstimate ? "~" : "") + Quantity.countdown($0) }
  }
}
