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
    return "  " + RetryMessages.countdown(retry.next, retry.until - now, width: width)
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

/// Which columns a row has in a window of some width, and how wide they are, in cells.
///
/// Widths depend on the window alone, never on what stands in them, so nothing shifts from frame to frame.
struct RowColumns: Equatable {
  static let indent = 2
  static let gap = 2
  static let percentWidth = 4
  static let bytesWidth = 8
  static let rateWidth = 10
  static let timeWidth = 8

  /// Cells that may be written: one less than the window, as a full line would wrap.
  let usable: Int
  let name: Int
  /// 0 for none.
  let bar: Int
  let hasPercent: Bool
  let hasBytes: Bool
  /// "390 MiB / 629 MiB" in place of "390 MiB".
  let hasTotal: Bool
  let hasRate: Bool
  let hasTime: Bool

  init(columns: Int) {
    usable = max(0, columns - 1)
    hasPercent = usable >= 16
    hasBytes = usable >= 55
    hasRate = usable >= 55
    hasTime = usable >= 69
    hasTotal = usable >= 99
    var rest = usable - Self.indent
    if hasPercent { rest -= 1 + Self.percentWidth }
    if hasBytes { rest -= Self.gap + Self.bytesWidth }
    if hasTotal { rest -= 3 + Self.bytesWidth }
    if hasRate { rest -= Self.gap + Self.rateWidth }
    if hasTime { rest -= Self.gap + Self.timeWidth }
    rest = max(0, rest)
    // A bar shorter than 8 cells says less than the percentage beside it.
    bar = usable >= 36 ? min(max(8, (rest - Self.gap) * 2 / 5), 40) : 0
    name = min(rest - (bar > 0 ? bar + Self.gap : 0), 56)
  }
}
