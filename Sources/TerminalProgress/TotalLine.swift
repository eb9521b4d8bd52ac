import DownloadModel

/// The last line of the region: the run as a whole, in the columns of the rows above it.
struct TotalLine {
  struct Content {
    var progress: RunProgress
    /// Of the bytes; nil while a size is unknown.
    var fraction: Double?
    /// How far the bar of an unknown length has moved.
    var step: Int
    var rate: Double
    var timeLeft: Duration?
    /// By the user, for now.
    var isPaused = false
    /// Files at a time, where the user has said so while the run went on.
    var width: Int?
    /// Whether it may take longer than that.
    var isBound = false
  }

  private let layout: FrameLayout
  private var columns: RowColumns { layout.columns }
  private var glyphs: Glyphs { layout.glyphs }

  init(layout: FrameLayout) { self.layout = layout }

  func text(_ content: Content) -> String {
    columns.hasRate ? inColumns(content) : inParts(content)
  }

  private func inColumns(_ content: Content) -> String {
    var line = layout.line
    line.pad(to: RowColumns.indent)
    appendLabel(content, to: &line)
    layout.appendBar(extent(content), to: &line, glyphs.totalBar, .done)
    layout.appendPercent(content.fraction, to: &line)
    let bytes = FileProgress(position: content.progress.bytes, start: 0, total: content.progress.totalBytes)
    layout.appendBytes(bytes, isKnown: true, to: &line)
    layout.appendRate(content.rate, to: &line)
    guard columns.hasTime else { return line.text }
    line.pad(to: line.width + RowColumns.gap)
    line.append(time(content) ?? "", right: RowColumns.timeWidth)
    // Where a window has room to spare, why the time is only a bound.
    let unknown = content.progress.unknownSizes
    let note = "  + \(Quantity.count(unknown)) of unknown size"
    if unknown > 0, line.width + note.utf8.count <= columns.usable { line.append(note, .dim) }
    return line.text
  }

  /// What fits into a narrow window, the most important first.
  private func inParts(_ content: Content) -> String {
    var line = layout.line
    let progress = content.progress
    var parts: [(String, StyledLine.Tone)] = [(counts(progress), .strong)]
    if content.isPaused { parts.append(("paused", .retry)) }
    if progress.tally.failed > 0 {
      let room = columns.usable - RowColumns.indent - CellWidth.of(counts(progress) + glyphs.separator)
      let long = failed(progress)
      let text = CellWidth.of(long) <= room ? long : glyphs.failed + Quantity.count(progress.tally.failed)
      parts.append((text, .failed))
    }
    if let fraction = content.fraction { parts.append(("\(Int(fraction * 100))%", .plain)) }
    parts.append((Quantity.rate(content.rate), .plain))
    if let left = time(content) { parts.append((left, .dim)) }
    if let width = content.width { parts.append((Self.width(width), .dim)) }
    for (text, tone) in parts {
      let lead = line.width == 0 ? String(repeating: " ", count: RowColumns.indent) : glyphs.separator
      guard line.width + CellWidth.of(lead) + CellWidth.of(text) <= columns.usable else { break }
      line.append(lead, .dim)
      line.append(text, tone)
    }
    return line.text
  }

  /// The longest wording that its column holds: rather short numbers than cut ones.
  private func appendLabel(_ content: Content, to line: inout StyledLine) {
    let progress = content.progress
    let end = line.width + columns.name
    let (counts, failed) = (counts(progress), failed(progress))
    func plain(_ text: String) -> String { text.filter { $0 != "," } }
    var wordings = [
      (counts + words(progress.tally), failed), (counts, failed), (plain(counts), plain(failed)),
      (plain(counts), glyphs.failed + "\(progress.tally.failed)"),
    ]
    // What keys have changed goes before the words that everybody knows.
    let said = [content.isPaused ? "paused" : nil, content.width.map(Self.width)].compactMap(\.self)
    if !said.isEmpty {
      let all = said.joined(separator: glyphs.separator)
      wordings =
        [counts + words(progress.tally), counts, plain(counts)].map {
          ($0 + glyphs.separator + all, failed)
        } + [(plain(counts) + glyphs.separator + said[0], plain(failed))] + wordings
    }
    let hasFailed = progress.tally.failed > 0
    func width(_ wording: (String, String)) -> Int {
      CellWidth.of(wording.0) + (hasFailed ? CellWidth.of(glyphs.separator + wording.1) : 0)
    }
    let wording = wordings.first { width($0) <= columns.name } ?? wordings[wordings.count - 1]
    line.append(TextCut.atEnd(wording.0, to: columns.name, ellipsis: glyphs.ellipsis), .strong)
    if hasFailed {
      line.append(TextCut.atEnd(glyphs.separator, to: end - line.width, ellipsis: ""), .dim)
      line.append(TextCut.atEnd(wording.1, to: end - line.width, ellipsis: ""), .failed)
    }
    line.pad(to: end)
  }

  private func extent(_ content: Content) -> ProgressBar.Extent {
    if let fraction = content.fraction { return .part(fraction) }
    return content.progress.bytes > 0 ? .moving(step: content.step) : .empty
  }

  private func counts(_ progress: RunProgress) -> String {
    let tally = progress.tally
    if tally.listed == 0, !tally.listIsComplete { return "starting" }
    let all = Quantity.count(tally.listed)
    return Quantity.count(tally.done) + "/" + (tally.listIsComplete ? all : glyphs.atLeast + all)
  }

  private func words(_ tally: ProgressTally) -> String {
    if tally.listed == 0, !tally.listIsComplete { return "" }
    return tally.listed == 1 && tally.listIsComplete ? " file" : " files"
  }

  private static func width(_ count: Int) -> String { "\(Quantity.count(count)) at a time" }

  private func failed(_ progress: RunProgress) -> String {
    Quantity.count(progress.tally.failed) + " failed"
  }

  private func time(_ content: Content) -> String? {
    guard let left = content.timeLeft, content.progress.remaining > 0 else { return nil }
    let bound = content.isBound ? glyphs.atLeast : ""
    return bound + Quantity.countdown(left)
  }
}
