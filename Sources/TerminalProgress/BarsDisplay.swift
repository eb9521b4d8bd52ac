import DownloadModel

/// A region of bars at the bottom of the terminal and lines that scroll away above it.
struct BarsDisplay: ProgressDisplay {
  /// 20 frames a second: smooth to the eye, and no burden.
  let interval = Duration.milliseconds(50)

  private let glyphs: Glyphs
  private let isColored: Bool
  private let words: ProgressMessages
  private let usesTaskbar: Bool
  private var writer = FrameWriter()
  private var rows: ActiveRows
  private var total: RunTotal
  private var taskbar = TaskbarProgress.hidden

  init(environment: TerminalEnvironment, isColored: Bool, words: ProgressMessages) {
    glyphs = environment.glyphs
    usesTaskbar = environment.takesTaskbarProgress
    self.isColored = isColored
    self.words = words
    rows = ActiveRows(glyphs: glyphs)
    total = RunTotal()
  }

  var restoring: [UInt8] { FrameWriter.restoring(extra: taskbarEnd) }

  mutating func draw(_ sample: ProgressSample, at now: Duration, size: TerminalSize) -> [UInt8] {
    let layout = FrameLayout(size: size, glyphs: glyphs, isColored: isColored)
    let room = layout.lines - 1 - sample.prompt.count
    rows.update(sample.active, retries: retries(sample.events, at: now), at: now, lines: max(0, room))
    let sum = total.update(
      sample, active: rows.all.map(\.progress), longest: rows.all.compactMap { $0.timeLeft(at: now) }.max(),
      at: now)
    let content = FrameLayout.Content(
      rows: rows.shown, hidden: rows.hidden, total: sum, prompt: sample.prompt, now: now)
    return writer.frame(
      above: EventLines(layout: layout, words: words).lines(sample.events), region: layout.region(content),
      size: size, extra: layout.lines > 0 ? taskbarChange(sum) : "")
  }

  mutating func end(_ sample: ProgressSample, at now: Duration, size: TerminalSize) -> [UInt8] {
    let layout = FrameLayout(size: size, glyphs: glyphs, isColored: isColored)
    let lines = EventLines(layout: layout, words: words).lines(sample.events)
    let frame = lines.isEmpty ? [] : writer.frame(above: lines, region: [], size: size)
    return frame + suspend()
  }

  mutating func suspend() -> [UInt8] {
    taskbar = .hidden
    return writer.close(extra: taskbarEnd)
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
    for case .retry(let address, let next, _) in events {
      retries[address] = ActiveRow.Retry(next: next, until: now + next.delay)
    }
    return retries
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
