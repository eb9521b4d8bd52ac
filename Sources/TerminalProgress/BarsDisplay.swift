import DownloadModel

/// A region of bars at the bottom of the terminal and lines that scroll away above it.
struct BarsDisplay: ProgressDisplay {
  /// 20 frames a second: smooth to the eye, and no burden.
  let interval = Duration.milliseconds(50)

  private let glyphs: Glyphs
  private let isColored: Bool
  private let words: ProgressMessages
  private let usesTaskbar: Bool
  /// What stands above the files of a run that is one of several: then these have rows at once, and when they have
  /// ended they are not told one by one.
  private let heading: RunHeading?
  private var writer = FrameWriter()
  private var rows: ActiveRows
  private var total: RunTotal
  private var waits: WaitLines.Content
  /// How many lines the last frame had about what waits.
  private var waitCount = 0
  private var taskbar = TaskbarProgress.hidden
  /// What keys have changed.
  private var screen = ScreenState()
  /// Of the file that a panel describes.
  private var transfers: (id: Int, details: [TransferDetails])?
  private var outlook = Outlook()
  /// What others have to say above the region, before the next frame.
  private var notes: [String] = []

  init(
    environment: TerminalEnvironment, isColored: Bool, words: ProgressMessages, heading: RunHeading? = nil
  ) {
    glyphs = environment.glyphs
    usesTaskbar = environment.takesTaskbarProgress
    self.isColored = isColored
    self.words = words
    self.heading = heading
    rows = heading == nil ? ActiveRows(glyphs: glyphs) : ActiveRows(glyphs: glyphs, seasoning: .zero)
    total = RunTotal()
    waits = WaitLines.Content()
  }

  var restoring: [UInt8] { FrameWriter.restoring(extra: taskbarEnd) }

  mutating func take(notes lines: [String]) { notes += lines }

  private mutating func takeNotes() -> [String] {
    defer { notes = [] }
    return notes
  }

  private func layout(_ size: TerminalSize) -> FrameLayout {
    FrameLayout(size: size, glyphs: glyphs, isColored: isColored, heading: heading?.lines ?? [])
  }

  private func above(_ sample: ProgressSample, _ layout: FrameLayout) -> [String] {
    heading == nil ? EventLines(layout: layout, words: words).lines(sample.events) : []
  }

  mutating func draw(_ sample: ProgressSample, at now: Duration, size: TerminalSize) -> [UInt8] {
    let layout = layout(size)
    waits.take(sample, words)
    let isPaused = screen.isPaused
    let prompt = prompt(sample, at: now)
    // The rows of the last frame say how many are tried again; those of this one depend on the room.
    rows.update(
      sample.active, retries: retries(sample.events, at: now), isPaused: isPaused, at: now,
      lines: layout.room(besides: waitCount, prompt: prompt.count))
    outlook.look(at: rows, at: now)
    waits.retries = rows.retries
    var sum = total.update(
      sample, active: rows.progress, longest: outlook.longest(at: now), hasStalled: outlook.hasStalled, at: now)
    (sum.isPaused, sum.width) = (isPaused, sample.width)
    if isPaused { (sum.rate, sum.timeLeft) = (0, nil) }
    var content = FrameLayout.Content(
      rows: [], hidden: rows.hidden, waits: waits, total: sum, isPaused: isPaused, prompt: prompt, now: now)
    let count = layout.waits(content).count
    if count != waitCount {
      waitCount = count
      rows.place(at: now, lines: layout.room(besides: count, prompt: prompt.count))
      content.hidden = rows.hidden
    }
    content.rows = rows.shown
    screen.settle(content.rows.map(\.id), isUnderWay: { rows[$0] != nil }, at: now)
    content.selected = screen.selected
    content.panel = panel(sample)
    return writer.frame(
      above: above(sample, layout), whole: takeNotes(),
      region: layout.region(content), size: size, extra: layout.lines > 0 ? taskbarChange(sum) : "")
  }

  /// The question that is asked, or what was said to the last key.
  private func prompt(_ sample: ProgressSample, at now: Duration) -> [String] {
    guard sample.prompt.isEmpty, let note = screen.note(at: now) else { return sample.prompt }
    return [String(repeating: " ", count: RowColumns.indent) + NoteMessages.text(note)]
  }

  // MARK: Keys

  mutating func press(_ key: ScreenKey, at now: Duration) -> ScreenCommand? {
    screen.press(key, ScreenState.Surroundings(rows: rows.shown.map(\.id), failures: waits.failures.all.count), at: now)
  }

  mutating func answer(_ note: String, at now: Duration) { screen.say(.text(note), at: now) }

  func meter(of id: Int) -> TransferMeter? { rows[id]?.meter }

  var described: TransferMeter? {
    if case .details(let id) = screen.panel { rows[id]?.meter } else { nil }
  }

  mutating func describe(_ meter: TransferMeter, by details: [TransferDetails]) {
    guard case .details(let id) = screen.panel, rows[id]?.meter === meter else { return }
    transfers = (id, details)
  }

  private mutating func panel(_ sample: ProgressSample) -> ScreenPanel.Content? {
    switch screen.panel {
    case nil: return nil
    case .help: return .help
    case .failures(let skipped):
      return .failures(waits.failures.all, skipped: skipped, total: sample.tally.failed)
    case .details(let id):
      rows.lookAtParts(of: id)
      let details = transfers.flatMap { $0.id == id ? $0.details : nil } ?? []
      return rows[id].map {
        .details(ScreenPanel.Details(row: $0, transfers: details, isPaused: screen.isPaused))
      }
    }
  }

  // MARK: The end

  mutating func end(_ sample: ProgressSample, at now: Duration, size: TerminalSize) -> [UInt8] {
    let lines = above(sample, layout(size))
    let notes = takeNotes()
    let isSilent = lines.isEmpty && notes.isEmpty
    let frame = isSilent ? [] : writer.frame(above: lines, whole: notes, region: [], size: size)
    return frame + suspend()
  }

  mutating func suspend() -> [UInt8] {
    taskbar = .hidden
    return writer.close(extra: taskbarEnd)
  }

  mutating func leave() -> [UInt8] {
    taskbar = .hidden
    return writer.leave(extra: taskbarEnd)
  }

  private var taskbarEnd: String { usesTaskbar ? TaskbarProgress.hidden.sequence : "" }

  private mutating func taskbarChange(_ sum: TotalLine.Content) -> String {
    let next = TaskbarProgress(fraction: sum.fraction, failed: sum.progress.tally.failed)
    guard usesTaskbar, next != taskbar else { return "" }
    taskbar = next
    return next.sequence
  }

  private func retries(_ events: [ProgressEvent], at now: Duration) -> [Address: ActiveRow.Retry] {
    var retries: [Address: ActiveRow.Retry] = [:]
    for case .retry(let address, let next, let error) in events {
      retries[address] = ActiveRow.Retry(next: next, until: now + next.delay, cause: words.cause(error))
    }
    return retries
  }
}

/// What the files under way say about the end of the run. All of them are asked, which with a thousand costs more than
/// the rest of a frame: twice a second is enough for what is shown in seconds.
private struct Outlook {
  private static let interval = Duration.milliseconds(500)

  private var asked: Duration?
  private var latest: Duration?
  private(set) var hasStalled = false

  mutating func look(at rows: ActiveRows, at now: Duration) {
    if let asked, now - asked < Self.interval { return }
    asked = now
    latest = rows.longestTimeLeft(at: now)
    hasStalled = rows.hasStalled(at: now)
  }

  /// The longest time that one of them is going to take; nil where none is known.
  func longest(at now: Duration) -> Duration? {
    guard let latest, let asked else { return nil }
    return max(.zero, latest - (now - asked))
  }
}

/// Progress on the taskbar or tab of terminals that show it (ConEmu's `OSC 9;4`).
enum TaskbarProgress: Sendable, Equatable {
  case hidden
  /// Under way, how far is not known.
  case busy
  case percent(Int)
  /// As far as that, and something failed.
  case failing(Int)

  init(fraction: Double?, failed: Int) {
    guard let fraction else {
      self = .busy
      return
    }
    let percent = Int(min(max(fraction, 0), 1) * 100)
    self = failed > 0 ? .failing(percent) : .percent(percent)
  }

  var sequence: String {
    switch self {
    case .hidden: "\u{1B}]9;4;0;0\u{1B}\\"
    case .percent(let percent): "\u{1B}]9;4;1;\(percent)\u{1B}\\"
    case .failing(let percent): "\u{1B}]9;4;2;\(percent)\u{1B}\\"
    case .busy: "\u{1B}]9;4;3;0\u{1B}\\"
    }
  }
}
