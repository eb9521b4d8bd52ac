/// From numbers to the lines of the region: rows of active files, "… N more", what waits and why, and last the total. A
/// pure function of what is to be shown, of the window, and of the time.
///
/// What does not fit is left out, the least important first: of lines the rows, of columns the time, the rate and the
/// bytes, then the bar and the percentage.
struct FrameLayout {
  /// Everything that one frame shows.
  struct Content {
    var rows: [ActiveRow]
    var hidden: Int
    var waits = WaitLines.Content()
    var total: TotalLine.Content
    /// The file whose row is selected.
    var selected: Int?
    /// What stands in place of the rows.
    var panel: ScreenPanel.Content?
    var isPaused = false
    /// A question, below everything else.
    var prompt: [String] = []
    var now: Duration
  }

  let columns: RowColumns
  /// The most lines that the region may have: the window less three.
  let lines: Int
  let glyphs: Glyphs
  let isColored: Bool
  /// What stands above everything: half of the lines at most.
  private let heading: ArraySlice<String>

  init(size: TerminalSize, glyphs: Glyphs, isColored: Bool, heading: [String] = []) {
    columns = RowColumns(columns: size.columns)
    lines = max(0, size.rows - 3)
    self.glyphs = glyphs
    self.isColored = isColored
    self.heading = heading.prefix(lines / 2)
  }

  func region(_ content: Content) -> [String] {
    guard lines > 0 else { return [] }
    let prompt = content.prompt.prefix(max(0, lines - 1)).map { strong($0) }
    let waits = waits(content)
    let room = room(besides: waits.count, prompt: content.prompt.count)
    var region = heading.enumerated().map { strong($1, if: $0 == 0) }
    if let panel = content.panel {
      region += ScreenPanel(layout: self).lines(panel, at: content.now, most: room)
    } else {
      region += content.rows.prefix(room).map { row($0, content) }
      if content.hidden > 0, content.rows.count < room { region.append(more(content.hidden)) }
    }
    region += waits
    region.append(TotalLine(layout: self).text(content.total))
    return region + prompt
  }

  /// How many lines are left for rows and the line "… more".
  /// - Parameters:
  ///   - waits: lines about what waits.
  ///   - prompt: lines of the question.
  func room(besides waits: Int, prompt: Int) -> Int {
    max(0, lines - heading.count - min(prompt, max(0, lines - 1)) - 1 - waits)
  }

  /// The lines about what waits: one where there is little room, and none where that would be the place of the only
  /// row.
  func waits(_ content: Content) -> [String] {
    let free = room(besides: 0, prompt: content.prompt.count)
    let most = free < 2 && content.total.progress.running > 0 ? 0 : min(free, max(1, free / 4))
    // The panel of failures has the last one too.
    let tellsFailure = if case .failures = content.panel { false } else { true }
    return WaitLines(layout: self).lines(
      content.waits, content.total.progress, isPaused: content.isPaused, tellsFailure: tellsFailure,
      at: content.now, most: most)
  }

  private func strong(_ text: String, if isStrong: Bool = true) -> String {
    var line = line
    line.append(
      TextCut.atEnd(StyledLine.shown(text, glyphs), to: columns.usable, ellipsis: glyphs.ellipsis),
      isStrong ? .strong : .plain)
    return line.text
  }

  var line: StyledLine { StyledLine(glyphs: glyphs, isColored: isColored) }

  private func more(_ count: Int) -> String {
    var line = line
    line.pad(to: min(RowColumns.indent, columns.usable))
    let text = "\(glyphs.ellipsis) \(Quantity.count(count)) more"
    line.append(TextCut.atEnd(text, to: columns.usable - line.width, ellipsis: ""), .dim)
    return line.text
  }

  private func row(_ row: ActiveRow, _ content: Content) -> String {
    var line = line
    let (now, isSelected) = (content.now, row.id == content.selected)
    if isSelected, columns.usable > 0 { line.append(glyphs.selected, .strong) }
    line.pad(to: min(RowColumns.indent, columns.usable))
    line.append(row.name, left: columns.name, isSelected ? .strong : .plain)
    let (progress, status) = (row.progress, content.isPaused ? .paused : row.status(at: now))
    // Without a column for it, what happens stands in place of the bar.
    if !columns.hasRate, let status, columns.bar > 0 {
      let end = line.width + RowColumns.gap + columns.bar
      line.pad(to: line.width + RowColumns.gap + 1)
      append(status, at: now, left: columns.bar - 1, to: &line)
      line.pad(to: end)
    } else {
      appendBar(of: row, to: &line)
    }
    appendPercent(progress.fraction, to: &line)
    if columns.hasBytes { appendBytes(progress, isKnown: progress.position > 0, to: &line) }
    guard columns.hasRate else { return line.text }
    if let status {
      line.pad(to: line.width + RowColumns.gap)
      let time = columns.hasTime ? RowColumns.gap + RowColumns.timeWidth : 0
      append(status, at: now, left: RowColumns.rateWidth + time, to: &line)
      return line.text
    }
    appendRate(row.rate.rate(at: now), to: &line)
    if columns.hasTime, let left = row.timeLeft(at: now) {
      line.pad(to: line.width + RowColumns.gap)
      line.append(Quantity.countdown(left), right: RowColumns.timeWidth, .dim)
    }
    return line.text
  }

  private func append(
    _ status: ActiveRow.Status, at now: Duration, left cells: Int, to line: inout StyledLine
  ) {
    let text = StatusMessages.text(status, at: now, width: cells)
    let tone: StyledLine.Tone =
      switch status {
      case .phase, .paused: .dim
      case .retry, .stalled: .retry
      }
    line.append(TextCut.atEnd(text, to: cells, ellipsis: ""), tone)
  }

  private func appendBar(of row: ActiveRow, to line: inout StyledLine) {
    guard columns.bar > 0 else { return }
    let progress = row.progress
    // With more parts than cells, no cell would be whole, and the bar would say nothing.
    if let parts = row.parts, let total = progress.total, 1...(columns.bar - 2) / 2 ~= parts.count {
      line.pad(to: line.width + RowColumns.gap)
      line.append(glyphs.rowBar.start, .dim)
      for run in SegmentBar(parts, of: total, cells: columns.bar - 2, glyphs: glyphs.rowBar).runs {
        line.append(run.text, run.isFilled ? .bar : .dim)
      }
      return line.append(glyphs.rowBar.end, .dim)
    }
    // Nothing has come and nothing is known: there is no movement to show.
    let isEmpty = progress.total == nil && progress.position == 0
    let extent = progress.fraction.map(ProgressBar.Extent.part)
    appendBar(extent ?? (isEmpty ? .empty : .moving(step: row.step)), to: &line, glyphs.rowBar, .bar)
  }

  func appendBar(
    _ extent: ProgressBar.Extent, to line: inout StyledLine, _ glyphs: Glyphs.Bar, _ tone: StyledLine.Tone
  ) {
    guard columns.bar > 0 else { return }
    let bar = ProgressBar(extent, cells: columns.bar - 2, glyphs: glyphs)
    line.pad(to: line.width + RowColumns.gap)
    line.append(glyphs.start + bar.before, .dim)
    line.append(bar.filled, cells: bar.filledCells, tone)
    line.append(bar.after + glyphs.end, .dim)
  }

  func appendPercent(_ fraction: Double?, to line: inout StyledLine) {
    guard columns.hasPercent else { return }
    line.pad(to: line.width + 1)
    line.append(fraction.map { "\(Int($0 * 100))%" } ?? "", right: RowColumns.percentWidth)
  }

  /// - Parameter isKnown: false for a file of which nothing has come.
  func appendBytes(_ progress: FileProgress, isKnown: Bool, to line: inout StyledLine) {
    line.pad(to: line.width + RowColumns.gap)
    let bytes = isKnown || progress.total != nil ? Quantity.bytes(progress.position) : ""
    line.append(bytes, right: RowColumns.bytesWidth)
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
