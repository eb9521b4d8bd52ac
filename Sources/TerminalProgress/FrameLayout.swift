/// From numbers to the lines of the region: rows of active files, "… N more", and last the total.
struct FrameLayout {
  /// Everything that one frame shows.
  struct Content {
    var rows: [ActiveRow]
    var hidden: Int
    var total: TotalLine.Content
    /// A question, below everything else.
    var prompt: [String] = []
    var now: Duration
  }

  let columns: RowColumns
  /// The most lines that the region may have: the window less three.
  let lines: Int
  let glyphs: Glyphs
  let isColored: Bool

  init(size: TerminalSize, glyphs: Glyphs, isColored: Bool) {
    columns = RowColumns(columns: size.columns)
    lines = max(0, size.rows - 3)
    self.glyphs = glyphs
    self.isColored = isColored
  }

  func region(_ content: Content) -> [String] {
    guard lines > 0 else { return [] }
    let prompt = content.prompt.prefix(max(0, lines - 1)).map { asking($0) }
    let room = lines - prompt.count
    var region = content.rows.prefix(room - 1).map { row($0, at: content.now) }
    if content.hidden > 0, room > 1, region.count < room - 1 { region.append(more(content.hidden)) }
    region.append(TotalLine(layout: self).text(content.total))
    return region + prompt
  }

  private func asking(_ text: String) -> String {
    var line = line
    line.append(
      TextCut.atEnd(StyledLine.shown(text, glyphs), to: columns.usable, ellipsis: glyphs.ellipsis), .strong)
    return line.text
  }

  var line: StyledLine { StyledLine(glyphs: glyphs, isColored: isColored) }

  private func more(_ count: Int) -> String {
    var line = line
    line.pad(to: min(RowColumns.indent, columns.usable))
    let text = "\(glyphs.ellipsis) \(Quantity.count(count)) more"
    line.append(
      TextCut.atEnd(text, to: columns.usable - line.width, ellipsis: ""), .dim)
    return line.text
  }

  private func row(_ row: ActiveRow, at now: Duration) -> String {
    var line = line
    line.pad(to: min(RowColumns.indent, columns.usable))
    line.append(row.name, left: columns.name)
    let progress = row.progress
    // Nothing has come and nothing is known: there is no movement to show.
    let isWaiting = progress.total == nil && progress.position == 0
    let extent = progress.fraction.map(ProgressBar.Extent.part)
    appendBar(extent ?? (isWaiting ? .empty : .moving(step: row.step)), to: &line, glyphs.rowBar, .bar)
    appendPercent(progress.fraction, to: &line)
    if columns.hasBytes { appendBytes(progress, isWaiting: isWaiting, to: &line) }
    if let retry = row.retry, columns.hasRate {
      line.append(retryText(retry, at: now), .retry)
      return line.text
    }
    guard !isWaiting else { return line.text }
    if columns.hasRate { appendRate(row.rate.rate(at: now), to: &line) }
    if columns.hasTime, let left = row.timeLeft(at: now) {
      line.pad(to: line.width + RowColumns.gap)
      line.append(Quantity.countdown(left), right: RowColumns.timeWidth, .dim)
    }
    return line.text
  }

  private func retryText(_ retry: ActiveRow.Retry, at now: Duration) -> String {
    let width = RowColumns.rateWidth + (columns.hasTime ? RowColumns.gap + RowColumns.timeWidth : 0)
    return "  " + NextWords.countdown(retry.next, retry.until - now, width: width)
  }

  func appendBar(
    _ extent: ProgressBar.Extent, to line: inout StyledLine, _ glyphs: Glyphs.Bar, _ tone: StyledLine.Tone
  ) {
    guard columns.bar > 0 else { return }
    let bar = ProgressBar(extent, cells: columns.bar - 2, glyphs: glyphs)
    line.pad(to: line.width + RowColumns.gap)
    line.append(glyphs.start + bar.before, .dim)
    line.append(bar.filled, tone)
    line.append(bar.after + glyphs.end, .dim)
  }

  func appendPercent(_ fraction: Double?, to line: inout StyledLine) {
    guard columns.hasPercent else { return }
    line.pad(to: line.width + 1)
    line.append(fraction.map { "\(Int($0 * 100))%" } ?? "", right: RowColumns.percentWidth)
  }

  func appendBytes(_ progress: FileProgress, isWaiting: Bool, to line: inout StyledLine) {
    line.pad(to: line.width + RowColumns.gap)
    line.append(
      isWaiting ? "waiting" : Quantity.bytes(progress.position), right: RowColumns.bytesWidth,
      isWaiting ? .dim : .plain)
    guard columns.hasTotal else { return }
    let end = line.width + 3 + RowColumns.bytesWidth
    if let total = progress.total { line.append(" / " + Quantity.bytes(total), .dim) }
    line.pad(to: end)
  }

  func appendRate(_ rate: Double, to line: inout StyledLine) {
    line.pad(to: line.width + RowColumns.gap)
    line.append(Quantity.rate(rate), right: RowColumns.rateWidth, .dim)
  }
}
