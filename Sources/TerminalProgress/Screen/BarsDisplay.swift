import DownloadModel

/// Bars at the bottom of the terminal, and lines that scroll away above them: numbers in, bytes out, no input or
/// output.
struct BarsDisplay {
  private let glyphs: Glyphs
  private let isColored: Bool
  private let words: ProgressMessages
  private let usesTaskbar: Bool
  private let usesTitle: Bool
  /// For one of several runs: its files get rows at once, and no lines of their own when they end.
  private let heading: RunHeading?
  private var writer = FrameWriter()
  private var rows: ActiveRows
  private var total: RunTotal
  private var waits = WaitLines.Content()
  /// Lines about waits in the last frame.
  private var waitCount = 0
  /// The last sequences for taskbar and title; `nil` while the terminal's own are shown.
  private var signs: String?
  var screen = ScreenState()
  /// In bytes a second.
  private(set) var rate = 0.0
  /// Transfers of the file in the details panel.
  private var transfers: (id: Int, details: [TransferDetails])?

  /// - Parameter joins: whether the run began before.
  init(environment: TerminalEnvironment, words: ProgressMessages, heading: RunHeading?, joins: Bool = false) {
    glyphs = environment.glyphs
    usesTaskbar = environment.takesTaskbarProgress
    usesTitle = environment.takesTitle
    isColored = environment.isColored
    self.words = words
    self.heading = heading
    rows = ActiveRows(
      glyphs: glyphs, seasoning: heading == nil && !joins ? ActiveRows.usualSeasoning : .zero, joins: joins)
    total = RunTotal(joins: joins)
  }

  private func layout(_ size: TerminalSize, isNarrowing: Bool = false) -> FrameLayout {
    FrameLayout(
      size: size, glyphs: glyphs, isColored: isColored, heading: heading?.lines ?? [], isNarrowing: isNarrowing)
  }

  private func above(_ sample: ProgressSample, _ layout: FrameLayout) -> [String] {
    heading == nil ? EventLines(layout: layout, words: words).lines(sample.events) : []
  }

  private mutating func sum(of sample: ProgressSample, at now: Duration) -> TotalLine.Content {
    var sum = total.update(
      sample, active: rows.progress, longest: rows.longest(at: now), wait: waits.longest(at: now),
      hasStalled: rows.hasStalled(at: now), isPaused: screen.isPaused, at: now)
    sum.isPaused = screen.isPaused
    sum.width = sample.width
    if sum.isPaused { sum.rate = 0 }
    rate = sum.rate
    sum.isWaiting = sum.progress.isIdle && (sample.watch != nil || sample.awaited != nil || sample.tally.listed == 0)
    if sum.isPaused || sum.isWaiting { sum.timeLeft = nil }
    return sum
  }

  /// - Parameter notes: lines of other writers for the area above.
  /// - Returns: empty if there is nothing new to show.
  mutating func draw(_ sample: ProgressSample, _ notes: [String], at now: Duration, size: TerminalSize) -> [UInt8] {
    let layout = layout(size, isNarrowing: writer.isNarrowing(size, at: now))
    screen.isPaused = sample.isPaused
    waits.take(sample, words)
    let prompt = prompt(sample, at: now)
    // Lines about waits are counted as in the last frame, because those of this frame depend on its rows.
    rows.update(
      sample.active, retries: retries(sample.events, at: now), isPaused: screen.isPaused, at: now,
      lines: layout.room(besides: waitCount, prompt: prompt.count))
    waits.retries = rows.retries
    let sum = sum(of: sample, at: now)
    var content = FrameLayout.Content(waits: waits, total: sum, prompt: prompt, now: now)
    let count = layout.waits(content).count
    if count != waitCount {
      waitCount = count
      rows.place(at: now, lines: layout.room(besides: count, prompt: prompt.count))
    }
    content.rows = rows.shown
    content.hidden = rows.hidden
    screen.settle(content.rows.map(\.id), isUnderWay: { rows[$0] != nil }, at: now)
    content.selected = screen.selected
    content.panel = panel(sample)
    return writer.frame(
      above: above(sample, self.layout(size)), whole: notes, region: layout.region(content), size: size,
      extra: layout.lines > 0 ? signs(of: sum.progress) : "")
  }

  /// The current question, or the reply to the last key.
  private func prompt(_ sample: ProgressSample, at now: Duration) -> [String] {
    guard sample.prompt.isEmpty, let note = screen.note(at: now) else { return sample.prompt }
    return [String(repeating: " ", count: RowColumns.indent) + note]
  }

  private func retries(_ events: [ProgressEvent], at now: Duration) -> [Address: ActiveRow.Retry] {
    var retries: [Address: ActiveRow.Retry] = [:]
    for case .retry(let request, let next, let error) in events {
      retries[request.address] = ActiveRow.Retry(next: next, until: now + next.delay, cause: words.cause(error))
    }
    return retries
  }

  // MARK: Keys

  mutating func press(_ key: ScreenKey, at now: Duration) -> ScreenCommand? {
    screen.press(key, rows: rows.shown.map(\.id), failures: waits.failures.count, at: now)
  }

  var described: TransferMeter? {
    guard case .details(let id) = screen.panel else { return nil }
    return rows[id]?.meter
  }

  mutating func describe(_ meter: TransferMeter, by details: [TransferDetails]) {
    guard case .details(let id) = screen.panel, rows[id]?.meter === meter else { return }
    transfers = (id, details)
  }

  private mutating func panel(_ sample: ProgressSample) -> ScreenPanel.Content? {
    switch screen.panel {
    case nil: return nil
    case .help: return .help
    case .failures(let skipped): return .failures(waits.failures, skipped: skipped, total: sample.tally.failed)
    case .details(let id):
      rows.lookAtParts(of: id)
      let details = transfers.flatMap { $0.id == id ? $0.details : nil } ?? []
      return rows[id].map { .details($0, details, isPaused: screen.isPaused) }
    }
  }

  mutating func end(_ sample: ProgressSample, _ notes: [String], size: TerminalSize) -> [UInt8] {
    let lines = above(sample, layout(size))
    let isSilent = lines.isEmpty && notes.isEmpty
    let frame = isSilent ? [] : writer.frame(above: lines, whole: notes, region: [], size: size)
    return frame + giveBack()
  }

  /// Restores the terminal; the next `draw` takes it again.
  /// - Parameter erases: false if other processes have written meanwhile: then no cell is changed.
  mutating func giveBack(erases: Bool = true) -> [UInt8] {
    defer { signs = nil }
    return writer.close(erases: erases, extra: signs == nil ? "" : noSigns)
  }

  var restoring: [UInt8] { FrameWriter.restoring(extra: noSigns) }

  // MARK: Taskbar and title

  /// Progress on the taskbar or tab of terminals that support it (ConEmu's `OSC 9;4`).
  private static func taskbar(_ state: Int, _ percent: Int) -> String { "\u{1B}]9;4;\(state);\(percent)\u{1B}\\" }

  /// Makes the terminal save its title, and restore it (XTWINOPS 22 and 23).
  private static let keepTitle = "\u{1B}[22;2t"
  private static let formerTitle = "\u{1B}[23;2t"

  private var noSigns: String { (usesTaskbar ? Self.taskbar(0, 0) : "") + (usesTitle ? Self.formerTitle : "") }

  /// - Returns: empty if the signs are unchanged.
  private mutating func signs(of progress: RunProgress) -> String {
    let percent = progress.fraction.map { Int(max($0, 0) * 100) }
    var next = ""
    if usesTaskbar {
      // 1: in progress, 2: with failures, 3: fraction unknown.
      next += percent.map { Self.taskbar(progress.tally.failed > 0 ? 2 : 1, $0) } ?? Self.taskbar(3, 0)
    }
    if usesTitle { next += "\u{1B}]2;dlm\(percent.map { " \($0)%" } ?? "")\u{1B}\\" }
    defer { signs = next }
    if let signs { return next == signs ? "" : next }
    return (usesTitle ? Self.keepTitle : "") + next
  }
}

extension ProgressEvent {
  /// Whether it is a successful file that gets a line, and is not only counted.
  var isNamed: Bool {
    guard case .ended(_, .success(let outcome)) = self else { return false }
    return outcome.kind == .fetched || outcome.kind == .skipped
  }
}
