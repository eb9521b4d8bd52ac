/// Turns numbers into the lines of the region: a pure function of the content, the window and the time. Parts that do
/// not fit are omitted, the least important first: rows; the columns of time, rate and bytes; the bar and the
/// percentage.
struct FrameLayout {
  struct Content {
    var rows: [ActiveRow] = []
    var hidden = 0
    var waits = WaitLines.Content()
    var total: TotalLine.Content
    var selected: Int?
    /// The panel that a key has opened.
    var panel: ScreenPanel.Content?
    /// A question, below everything else.
    var prompt: [String] = []
    var now: Duration
  }

  private(set) var columns: RowColumns
  /// The most lines that the region may have: the window less three.
  let lines: Int
  let glyphs: Glyphs
  private let isColored: Bool
  /// Lines at the top of the region: at most half of its lines.
  private let heading: ArraySlice<String>
  var usable: Int { columns.usable }

  init(size: TerminalSize, glyphs: Glyphs, isColored: Bool, heading: [String] = [], isNarrowing: Bool = false) {
    columns = RowColumns(usable: RowColumns.usable(of: size.columns, isNarrowing: isNarrowing))
    lines = max(0, size.rows - 3)
    self.glyphs = glyphs
    self.isColored = isColored
    self.heading = heading.prefix(lines / 2)
  }

  func region(_ content: Content) -> [CellLine] {
    guard lines > 0 else { return [] }
    let waits = waits(content)
    let room = room(besides: waits.count, prompt: content.prompt.count)
    let panelWidth = content.panel.flatMap { _ in columns.panel }
    let main = panelWidth.map { within(usable - glyphs.rule.count - $0) } ?? self
    var region = heading.enumerated().map { text($1, $0 == 0 ? .strong : .plain) }
    region += main.body(content, room, beside: panelWidth.map(within)) + waits
    region.append(TotalLine(layout: main).line(content.total))
    return region + content.prompt.prefix(max(0, lines - 1)).map { text($0, .strong) }
  }

  /// The same in a part of the window.
  private func within(_ cells: Int) -> FrameLayout {
    var layout = self
    layout.columns = RowColumns(usable: cells)
    return layout
  }

  /// The rows, and the open panel: beside them in a layout of its own, or below them, where in a low window it takes
  /// their place.
  private func body(_ content: Content, _ room: Int, beside aside: FrameLayout?) -> [CellLine] {
    let count = aside == nil ? content.rows.count + (content.hidden > 0 ? 1 : 0) : 0
    let panel = content.panel.map {
      ScreenPanel(layout: aside ?? self).lines($0, at: content.now, most: room, leaving: min(count, room / 3))
    }
    guard let panel else { return rows(content, room) }
    return aside == nil ? rows(content, room - panel.count) + panel : beside(rows(content, room), panel)
  }

  /// Both from the top, with a thin line between them.
  func beside(_ rows: [CellLine], _ panel: [CellLine]) -> [CellLine] {
    (0..<max(rows.count, panel.count)).map { index in
      var line = index < rows.count ? rows[index] : line
      line.pad(to: usable)
      line.append(glyphs.rule, .dim)
      if index < panel.count { line.append(panel[index]) }
      return line
    }
  }

  /// The rows that fit, including the selected one, and the number of the others.
  private func rows(_ content: Content, _ room: Int) -> [CellLine] {
    let all = content.rows.count + content.hidden
    let count = content.hidden == 0 && all <= room ? all : max(0, min(content.rows.count, room - 1))
    let selected = content.rows.firstIndex { $0.id == content.selected } ?? 0
    let shown = content.rows.dropFirst(max(0, selected + 1 - count)).prefix(count)
    let names = TextCut.apart(shown.map(\.name), to: columns.name, ellipsis: glyphs.ellipsis)
    let lines = zip(shown, names).map { row($0, name: $1, content) }
    guard count < all, count < room else { return lines }
    return lines + [line(text: "\(glyphs.ellipsis) \(Quantity.count(all - count)) more", .dim)]
  }

  /// Lines left for rows and "… more", beside `waits` lines about waits and `prompt` lines of a question.
  func room(besides waits: Int, prompt: Int) -> Int {
    max(0, lines - heading.count - min(prompt, max(0, lines - 1)) - 1 - waits)
  }

  /// The lines about waits; empty if they would take the place of the only row.
  func waits(_ content: Content) -> [CellLine] {
    let free = room(besides: 0, prompt: content.prompt.count)
    let most = free < 2 && content.total.progress.running > 0 ? 0 : min(free, max(1, free / 4))
    // The panel of failures shows the last one, too.
    let tellsFailure = if case .failures = content.panel { false } else { true }
    return WaitLines(layout: self).lines(
      content.waits, content.total, tellsFailure: tellsFailure, at: content.now, most: most)
  }

  // MARK: Lines

  var line: CellLine { CellLine(ellipsis: glyphs.ellipsis, isColored: isColored) }

  /// A line that starts with a sign, or with blanks in its place.
  func line(_ sign: String, _ tone: Tone = .plain) -> CellLine {
    var line = line
    if usable > 0 { line.append(sign, tone) }
    line.pad(to: min(RowColumns.indent, usable))
    return line
  }

  private func text(_ text: String, _ tone: Tone) -> CellLine {
    var line = line
    line.append(TerminalText.shown(text, glyphs), upTo: usable, tone)
    return line
  }

  /// An indented line of text, cut at its end.
  func line(text: String, ellipsis: String = "", _ tone: Tone = .plain) -> CellLine {
    var line = line("")
    line.append(text, upTo: usable, ellipsis: ellipsis, tone)
    return line
  }

  // MARK: Columns

  private func row(_ row: ActiveRow, name: String, _ content: Content) -> CellLine {
    let now = content.now
    let isSelected = row.id == content.selected
    var line = line(isSelected ? glyphs.selected : "", .strong)
    line.append(name, left: columns.name, isSelected ? .strong : .plain)
    let progress = row.progress
    let status = content.total.isPaused ? .paused : row.status(at: now)
    // Without a column of its own, the status replaces the bar.
    if !columns.hasRate, let status, columns.bar > 0 {
      let end = line.width + RowColumns.gap + columns.bar
      line.leaveGap(RowColumns.gap + 1)
      append(status, at: now, left: columns.bar - 1, to: &line)
      line.pad(to: end)
    } else {
      appendBar(extent(row), to: &line, glyphs.rowBar, .bar)
    }
    appendPercent(progress.fraction, to: &line)
    guard columns.hasRate else { return line }
    appendBytes(progress, isKnown: progress.position > 0, to: &line)
    if let status {
      line.leaveGap()
      let time = columns.hasTime ? RowColumns.gap + RowColumns.timeWidth : 0
      append(status, at: now, left: RowColumns.rateWidth + time, to: &line)
      return line
    }
    appendRate(row.rate.rate(at: now), to: &line)
    if columns.hasTime, let left = row.timeLeft(at: now) {
      line.leaveGap()
      line.append(Quantity.countdown(left), right: RowColumns.timeWidth, .dim)
    }
    return line
  }

  private func append(_ status: ActiveRow.Status, at now: Duration, left cells: Int, to line: inout CellLine) {
    let text = StatusMessages.text(status, at: now, width: cells)
    let tone: Tone =
      switch status {
      case .phase, .paused: .dim
      case .retry, .stalled: .retry
      }
    line.append(text, upTo: line.width + cells, ellipsis: "", tone)
  }

  private func extent(_ row: ActiveRow) -> ProgressBar.Extent {
    let progress = row.progress
    // With more parts than cells, no cell would be full, and the bar would say nothing.
    if let parts = row.parts, let total = progress.total, !parts.isEmpty, parts.count <= (columns.bar - 2) / 2 {
      return .parts(parts, of: total)
    }
    if let fraction = progress.fraction { return .part(fraction) }
    return progress.position == 0 ? .part(0) : .moving(step: row.rate.step)
  }

  func appendBar(_ extent: ProgressBar.Extent, to line: inout CellLine, _ glyphs: Glyphs.Bar, _ tone: Tone) {
    guard columns.bar > 0 else { return }
    line.leaveGap()
    line.append(glyphs.start, .dim)
    for level in ProgressBar.levels(extent, cells: columns.bar - 2, steps: glyphs.steps.count) {
      line.append(level > 0 ? glyphs.steps[level - 1] : glyphs.empty, level > 0 ? tone : .dim)
    }
    line.append(glyphs.end, .dim)
  }

  func appendPercent(_ fraction: Double?, to line: inout CellLine) {
    guard columns.hasPercent else { return }
    line.leaveGap(1)
    line.append(fraction.map { "\(Int($0 * 100))%" } ?? "", right: RowColumns.percentWidth)
  }

  /// - Parameter isKnown: false for a file without a byte.
  /// - Parameter isEstimate: whether the total is an estimate.
  func appendBytes(_ progress: FileProgress, isKnown: Bool, isEstimate: Bool = false, to line: inout CellLine) {
    var bytes = isKnown || progress.total != nil ? Quantity.bytes(progress.position) : ""
    // The percentage already shows the received bytes.
    if columns.hasOnlyTotal, let total = progress.total {
      bytes = (isEstimate ? "of ~" : "of ") + Quantity.bytes(total)
    }
    line.append(bytes, right: columns.bytes)
    guard columns.hasTotal else { return }
    let end = line.width + 3 + RowColumns.bytesWidth
    if let total = progress.total { line.append((isEstimate ? " /~" : " / ") + Quantity.bytes(total), .dim) }
    line.pad(to: end)
  }

  func appendRate(_ rate: Double, to line: inout CellLine) {
    line.append(Quantity.rate(rate), right: RowColumns.gap + RowColumns.rateWidth, .dim)
  }
}

/// Lines that are made for a layout.
protocol LaidOut {
  var layout: FrameLayout { get }
}

extension LaidOut {
  var glyphs: Glyphs { layout.glyphs }
  var usable: Int { layout.usable }
}
