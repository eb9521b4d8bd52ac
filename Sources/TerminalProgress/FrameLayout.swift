import DownloadModel

/// From numbers to the lines of the region: a pure function of what is shown, the window and the time. What does not
/// fit is left out, the least important first: rows; the columns of time, rate and bytes; the bar and the percentage.
struct FrameLayout {
  struct Content {
    var rows: [ActiveRow] = []
    var hidden = 0
    var waits = WaitLines.Content()
    var total: TotalLine.Content
    var selected: Int?
    /// What a key has opened.
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
  /// What stands above everything: half of the lines at most.
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
    let main = panelWidth.map { within(usable - Self.rule.count - $0) } ?? self
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

  /// The rows, and the panel that is open: beside them in a layout of its own, or below them, where in a low window it
  /// takes their place.
  private func body(_ content: Content, _ room: Int, beside aside: FrameLayout?) -> [CellLine] {
    let count = aside == nil ? content.rows.count + (content.hidden > 0 ? 1 : 0) : 0
    let panel = content.panel.map {
      ScreenPanel(layout: aside ?? self).lines($0, at: content.now, most: room, leaving: min(count, room / 3))
    }
    if let panel, aside != nil { return beside(rows(content, room), panel) }
    return rows(content, room - (panel?.count ?? 0)) + (panel ?? [])
  }

  private static let rule = " │ "

  /// Both from the top, and between them a thin line.
  func beside(_ rows: [CellLine], _ panel: [CellLine]) -> [CellLine] {
    (0..<max(rows.count, panel.count)).map { index in
      var line = index < rows.count ? rows[index] : line
      line.pad(to: usable)
      line.append(glyphs.isASCII ? " | " : Self.rule, .dim)
      if index < panel.count { line.append(panel[index]) }
      return line
    }
  }

  /// The rows that fit, the selected one among them, and how many more there are.
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

  /// Lines left for rows and "… more", beside `waits` lines about what waits and `prompt` lines of a question.
  func room(besides waits: Int, prompt: Int) -> Int {
    max(0, lines - heading.count - min(prompt, max(0, lines - 1)) - 1 - waits)
  }

  /// The lines about what waits: none where they would take the place of the only row.
  func waits(_ content: Content) -> [CellLine] {
    let free = room(besides: 0, prompt: content.prompt.count)
    let most = free < 2 && content.total.progress.running > 0 ? 0 : min(free, max(1, free / 4))
    // The panel of failures has the last one too.
    let tellsFailure = if case .failures = content.panel { false } else { true }
    return WaitLines(layout: self).lines(
      content.waits, content.total, tellsFailure: tellsFailure, at: content.now, most: most)
  }

  // MARK: Lines

  var line: CellLine { CellLine(ellipsis: glyphs.ellipsis, isColored: isColored) }

  /// A line that begins with a sign, or with blanks in its place.
  func line(_ sign: String, _ tone: CellLine.Tone = .plain) -> CellLine {
    var line = line
    if usable > 0 { line.append(sign, tone) }
    line.pad(to: min(RowColumns.indent, usable))
    return line
  }

  private func text(_ text: String, _ tone: CellLine.Tone) -> CellLine {
    var line = line
    line.append(TerminalText.shown(text, glyphs), upTo: usable, tone)
    return line
  }

  /// A line of text, set in and cut at its end.
  func line(text: String, ellipsis: String = "", _ tone: CellLine.Tone = .plain) -> CellLine {
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
    // Without a column for it, what happens stands in place of the bar.
    if !columns.hasRate, let status, columns.bar > 0 {
      let end = line.width + RowColumns.gap + columns.bar
      line.pad(to: line.width + RowColumns.gap + 1)
      append(status, at: now, left: columns.bar - 1, to: &line)
      line.pad(to: end)
    } else {
      appendBar(extent(row), to: &line, glyphs.rowBar, .bar)
    }
    appendPercent(progress.fraction, to: &line)
    guard columns.hasRate else { return line }
    appendBytes(progress, isKnown: progress.position > 0, to: &line)
    if let status {
      line.pad(to: line.width + RowColumns.gap)
      let time = columns.hasTime ? RowColumns.gap + RowColumns.timeWidth : 0
      append(status, at: now, left: RowColumns.rateWidth + time, to: &line)
      return line
    }
    appendRate(row.rate.rate(at: now), to: &line)
    if columns.hasTime, let left = row.timeLeft(at: now) {
      line.pad(to: line.width + RowColumns.gap)
      line.append(Quantity.countdown(left), right: RowColumns.timeWidth, .dim)
    }
    return line
  }

  private func append(_ status: ActiveRow.Status, at now: Duration, left cells: Int, to line: inout CellLine) {
    let text = StatusMessages.text(status, at: now, width: cells)
    let tone: CellLine.Tone =
      switch status {
      case .phase, .paused: .dim
      case .retry, .stalled: .retry
      }
    line.append(text, upTo: line.width + cells, ellipsis: "", tone)
  }

  private func extent(_ row: ActiveRow) -> ProgressBar.Extent {
    let progress = row.progress
    // With more parts than cells, no cell would be whole, and the bar would say nothing.
    if let parts = row.parts, let total = progress.total, !parts.isEmpty, parts.count <= (columns.bar - 2) / 2 {
      return .parts(parts, of: total)
    }
    if let fraction = progress.fraction { return .part(fraction) }
    return progress.position == 0 ? .part(0) : .moving(step: row.rate.step)
  }

  func appendBar(_ extent: ProgressBar.Extent, to line: inout CellLine, _ glyphs: Glyphs.Bar, _ tone: CellLine.Tone) {
    guard columns.bar > 0 else { return }
    line.pad(to: line.width + RowColumns.gap)
    line.append(glyphs.start, .dim)
    for level in ProgressBar.levels(extent, cells: columns.bar - 2, steps: glyphs.steps.count) {
      line.append(level > 0 ? glyphs.steps[level - 1] : glyphs.empty, level > 0 ? tone : .dim)
    }
    line.append(glyphs.end, .dim)
  }

  func appendPercent(_ fraction: Double?, to line: inout CellLine) {
    guard columns.hasPercent else { return }
    line.pad(to: line.width + 1)
    line.append(fraction.map { "\(Int($0 * 100))%" } ?? "", right: RowColumns.percentWidth)
  }

  /// - Parameter isKnown: false for a file without a byte.
  /// - Parameter isEstimate: whether the total is one.
  func appendBytes(_ progress: FileProgress, isKnown: Bool, isEstimate: Bool = false, to line: inout CellLine) {
    var bytes = isKnown || progress.total != nil ? Quantity.bytes(progress.position) : ""
    // The percentage says the same as the received bytes.
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

/// The columns of a row and their widths in cells: these depend on the room alone, so that nothing shifts.
struct RowColumns: Equatable {
  static let indent = 2
  static let gap = 2
  static let percentWidth = 4
  static let bytesWidth = 8
  static let rateWidth = 10
  static let timeWidth = 8

  /// Cells that may be written.
  let usable: Int
  let name: Int
  /// 0 for none.
  let bar: Int
  let hasPercent: Bool
  /// "390 MiB / 629 MiB" in place of "390 MiB".
  let hasTotal: Bool
  /// "of 629 MiB", beside the percentage.
  let hasOnlyTotal: Bool
  /// Of the rate, and of the bytes.
  let hasRate: Bool
  let hasTime: Bool

  /// The width of the bytes, and of what stands before them.
  let bytes: Int

  /// One cell less than the window, as a full line would wrap, and less a margin. In a narrower window tmux breaks
  /// longer lines, and what stands at the top goes to its scroll-back, where nothing clears it. So a step of the
  /// window's edge breaks no row; while it moves, none of many at once does.
  static func usable(of columns: Int, isNarrowing: Bool) -> Int {
    max(0, columns - 1 - columns / (isNarrowing ? 4 : 20))
  }

  /// Cells of a panel beside the rows: what rows of all columns leave, but 40 at least if 60 are left for the rows;
  /// nil where there are fewer. Longer lines than 72 cells are hard to read.
  var panel: Int? { usable >= 103 ? min(72, max(40, usable - 96)) : nil }

  init(usable: Int) {
    self.usable = usable
    hasPercent = usable >= 16
    hasRate = usable >= 55
    hasTime = usable >= 69
    hasTotal = usable >= 93
    hasOnlyTotal = hasTime && !hasTotal
    var rest = usable - Self.indent
    if hasPercent { rest -= 1 + Self.percentWidth }
    if hasTotal { rest -= 3 + Self.bytesWidth }
    bytes = (hasOnlyTotal ? 5 : Self.gap) + Self.bytesWidth
    if hasRate { rest -= bytes + Self.gap + Self.rateWidth }
    if hasTime { rest -= Self.gap + Self.timeWidth }
    rest = max(0, rest)
    // A bar shorter than 8 cells says less than the percentage beside it. Without a rate it makes room for a status.
    // What "of" takes is the bar's, not the name's.
    let forBar = rest - Self.gap - (hasOnlyTotal ? 6 : 0)
    bar = usable >= 36 ? min(max(hasRate ? 8 : 12, forBar * 3 / 8), 40) : 0
    name = min(rest - (bar > 0 ? bar + Self.gap : 0), 56)
  }
}

/// The last line of the region: the run as a whole, in the columns of the rows above it.
struct TotalLine {
  struct Content {
    var progress: RunProgress
    /// How far the bar of an unknown length has moved.
    var step: Int
    var rate: Double
    var timeLeft: Duration?
    var isPaused = false
    /// Files at a time, where the user has said so while the run went on.
    var width: Int?
    /// Whether sizes were estimated for `timeLeft`.
    var isEstimate = false
    /// Whether there is nothing to do before a list gives more: then bar and speed say nothing.
    var isWaiting = false
  }

  let layout: FrameLayout
  private var columns: RowColumns { layout.columns }
  private var glyphs: Glyphs { layout.glyphs }

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
    line.pad(to: line.width + RowColumns.gap)
    line.append(time(content) ?? "", right: RowColumns.timeWidth)
    return line
  }

  /// What fits into a narrow window, the most important first.
  private func inParts(_ content: Content) -> CellLine {
    let progress = content.progress
    let counts = counts(content.progress.tally)
    var parts: [(String, CellLine.Tone)] = [(counts, .strong)]
    if content.isPaused { parts.append(("paused", .retry)) }
    if progress.tally.failed > 0 {
      let room = columns.usable - RowColumns.indent - CellWidth.of(counts + glyphs.separator)
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
      guard line.width + CellWidth.of(lead) + CellWidth.of(text) <= columns.usable else { break }
      line.append(lead, .dim)
      line.append(text, tone)
    }
    return line
  }

  /// The longest wording that its column holds: rather short numbers than cut ones.
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
    // What keys have changed goes before the words that everybody knows.
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
