import DownloadModel

/// Progress as lines for a log, a pipe or a screen reader: words instead of signs, nothing is ever overwritten. Every
/// file is named, in a line for each change of its state that matters.
struct PlainLog: ProgressDisplay {
  let interval = Duration.milliseconds(250)
  private static let summaryInterval = Duration.seconds(10)
  /// How often a run in which nothing moves says that it is still there.
  private static let quietInterval = Duration.seconds(60)

  private let isColored: Bool
  private let words: ProgressMessages
  private var total = RunTotal()
  private var latestSummary = Duration.zero
  private var summarized: RunProgress?
  /// While watched files are asked about again: how many have not changed, which is one line and not theirs.
  private var unchanged: Int?

  init(isColored: Bool, words: ProgressMessages) {
    self.isColored = isColored
    self.words = words
  }

  mutating func draw(_ sample: ProgressSample, at now: Duration, size: TerminalSize) -> [UInt8] {
    var text = lines(sample.events)
    let sum = total.update(sample, active: sample.active.map { FileProgress($0.meter) }, at: now)
    let wait = sum.progress == summarized ? Self.quietInterval : Self.summaryInterval
    // A watch may wait for days; it has said what for.
    let isIdle = sample.watch != nil && sample.active.isEmpty && sum.progress == summarized
    if now - latestSummary >= wait, !isIdle {
      latestSummary = now
      summarized = sum.progress
      text += PlainSummary(sum).text + "\n"
    }
    return Array(text.utf8)
  }

  mutating func end(_ sample: ProgressSample, at now: Duration, size: TerminalSize) -> [UInt8] {
    Array(lines(sample.events).utf8)
  }

  private mutating func lines(_ events: [ProgressEvent]) -> String {
    var text = ""
    for event in events {
      if let line = lineOfAsking(event) { text += line }
      if isUnchanged(event) { continue }
      if let line = line(event) { text += line + "\n" }
    }
    return text
  }

  /// Counts what has not changed, and tells it when all of it was asked about.
  private mutating func lineOfAsking(_ event: ProgressEvent) -> String? {
    switch event {
    case .watch(.asking): unchanged = 0
    case .watch(.waiting):
      defer { unchanged = nil }
      guard let unchanged, unchanged > 0 else { return nil }
      return head("asked", .dim) + "\(Quantity.count(unchanged)) unchanged\n"
    default: if isUnchanged(event) { unchanged? += 1 }
    }
    return nil
  }

  private func isUnchanged(_ event: ProgressEvent) -> Bool {
    guard unchanged != nil, case .ended(_, .success(let outcome)) = event else { return false }
    return outcome.kind == .unchanged || outcome.kind == .fresh
  }

  private func line(_ event: ProgressEvent) -> String? {
    switch event {
    case .began: return nil
    case .ended(_, .success(let outcome)):
      let note = OutcomeNote.text(outcome, showsPath: true)
      let rest = "\(Quantity.bytes(outcome.size))\(note.isEmpty ? "" : ", \(note)")"
      return head("done", .done) + TerminalText.sanitized("\(outcome.path), \(rest)")
    case .ended(_, .failure(let error)) where error.code == .cancelled: return nil
    case .ended(let address, .failure(let error)):
      // What can be done about it is told once, at the end.
      return head("failed", .failed) + TerminalText.sanitized("\(address.key): \(words.cause(error))")
    case .retry(let address, let next, let error):
      return head("retry", .retry)
        + TerminalText.sanitized("\(address.key): \(RetryMessages.text(words.cause(error), next))")
    case .waitsForAnotherProcess(let address, let process):
      return head("waits", .retry)
        + TerminalText.sanitized("\(address.key): \(OutcomeNote.waits(for: process))")
    case .rejected(let rejection):
      return head("refused", .failed) + TerminalText.sanitized(words.rejection(rejection))
    case .watch(let news):
      let (word, text) = WatchMessages(words: words).text(news)
      return head(word, .dim) + TerminalText.sanitized(text)
    }
  }

  private func head(_ word: String, _ tone: StyledLine.Tone) -> String {
    var line = StyledLine(glyphs: .ascii, isColored: isColored)
    line.append(word + ":", tone)
    line.append(" ")
    return line.text
  }
}

/// The state of a run in one sentence.
private struct PlainSummary {
  let text: String

  init(_ sum: TotalLine.Content) {
    let progress = sum.progress
    let tally = progress.tally
    let bound = tally.listIsComplete ? "" : "at least "
    var parts = ["\(Quantity.count(tally.done)) of \(bound)\(Quantity.count(tally.listed)) files done"]
    if tally.failed > 0 { parts.append("\(Quantity.count(tally.failed)) failed") }
    let whole = progress.totalBytes.map { " of \(Quantity.bytes($0))" } ?? ""
    parts.append(Quantity.bytes(progress.bytes) + whole)
    parts.append(Quantity.rate(sum.rate))
    if let left = sum.timeLeft, progress.remaining > 0 {
      let bound = sum.isBound ? "at least" : "about"
      parts.append("\(bound) \(Self.rounded(left)) left")
    }
    text = "progress: " + parts.joined(separator: ", ")
  }

  /// A guess has no tenths.
  private static func rounded(_ left: Duration) -> String {
    let seconds = Int64(min(left.inSeconds, 1e15).rounded(.up))
    return seconds < 60 ? "\(seconds) s" : Quantity.duration(.seconds(seconds))
  }
}
