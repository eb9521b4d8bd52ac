import DownloadModel

/// Progress as lines for a log, a pipe or a screen reader: words instead of signs, and a line for each change that
/// matters.
struct PlainLog: ProgressLog {
  private static let summaryInterval = Duration.seconds(10)
  /// The interval of progress lines while nothing changes.
  private static let quietInterval = Duration.seconds(60)

  private let isColored: Bool
  private let words: ProgressMessages
  private var total = RunTotal()
  private var latestSummary = Duration.zero
  private var summarized: RunProgress?
  /// While watched files are checked again: the number of unchanged files, which get one line together.
  private var unchanged: Int?

  init(isColored: Bool, words: ProgressMessages) {
    self.isColored = isColored
    self.words = words
  }

  mutating func draw(_ sample: ProgressSample, at now: Duration) -> [UInt8] {
    var bytes = end(sample, at: now)
    let sum = total.update(sample, at: now)
    let wait = sum.progress == summarized ? Self.quietInterval : Self.summaryInterval
    // A watch may wait for days; an earlier line has said for what.
    let isIdle = sample.watch != nil && sample.active.isEmpty && sum.progress == summarized
    if now - latestSummary >= wait, !isIdle {
      latestSummary = now
      summarized = sum.progress
      let awaited = sum.progress.isIdle ? sample.awaited.map { "progress: " + TerminalText.sanitized($0) } : nil
      bytes += ((awaited ?? Self.summary(sum)) + "\n").utf8
    }
    return bytes
  }

  mutating func end(_ sample: ProgressSample, at now: Duration) -> [UInt8] {
    var lines: [String] = []
    for event in sample.events {
      switch event {
      case .watch(.asking): unchanged = 0
      case .watch(.waiting):
        if let unchanged, unchanged > 0 { lines.append(line("asked", .dim, "\(Quantity.count(unchanged)) unchanged")) }
        unchanged = nil
      case .ended(_, .success(let outcome)) where outcome.kind == .unchanged || outcome.kind == .fresh:
        guard let unchanged else { break }
        self.unchanged = unchanged + 1
        continue
      default: break
      }
      if let line = line(event, tellsFailures: sample.watch != nil) { lines.append(line) }
    }
    return lines.flatMap { ($0 + "\n").utf8 }
  }

  /// - Parameter tellsFailures: true in a run without an end; otherwise the summary lists failures.
  private func line(_ event: ProgressEvent, tellsFailures: Bool) -> String? {
    switch event {
    case .began: return nil
    case .ended(_, .success(let outcome)):
      let note = OutcomeNote.text(outcome)
      return line("done", .strong, "\(outcome.path), \(Quantity.bytes(outcome.size))\(note.isEmpty ? "" : ", \(note)")")
    case .ended(_, .failure(let error)) where error.code == .cancelled: return nil
    case .ended(let request, .failure(let error)):
      guard tellsFailures else { return nil }
      return line("failed", .failed, "\(request.address.redacted): \(words.cause(error))")
    case .retry(let request, let next, let error):
      return line("retry", .retry, "\(request.address.redacted): \(RetryMessages.text(words.cause(error), next))")
    case .restarted(let request, let reason):
      return line("retry", .retry, "\(request.address.redacted): \(RetryMessages.text(reason))")
    case .waitsForAnotherProcess(let request, let process):
      return line("waits", .retry, "\(request.address.redacted): \(OutcomeNote.waits(for: process))")
    case .rejected(let rejection):
      return tellsFailures ? line("failed", .failed, words.rejection(rejection)) : nil
    case .watch(let news):
      let (word, text) = WatchMessages.text(news, words)
      return line(word, .dim, text)
    }
  }

  private func line(_ word: String, _ tone: Tone, _ text: String) -> String {
    var line = CellLine(isColored: isColored)
    line.append(word + ":", tone)
    return "\(line.text) \(TerminalText.sanitized(text))"
  }

  private static func summary(_ sum: TotalLine.Content) -> String {
    let progress = sum.progress
    let tally = progress.tally
    let bound = tally.listIsComplete ? "" : "at least "
    var parts = ["\(Quantity.count(tally.done)) of \(bound)\(Quantity.count(tally.listed)) files done"]
    if tally.failed > 0 { parts.append("\(Quantity.count(tally.failed)) failed") }
    let about = progress.unknownSizes > 0 ? "about " : ""
    let whole = progress.totalBytes.map { " of \(about)\(Quantity.bytes($0))" } ?? ""
    parts += [Quantity.bytes(progress.bytes) + whole, Quantity.rate(sum.rate)]
    if let left = sum.timeLeft, left > .zero {
      // An estimate is shown without tenths.
      let seconds = Quantity.whole(left, .up)
      let time = seconds < 60 ? "\(seconds) s" : Quantity.duration(.seconds(seconds))
      parts.append("about \(time) left")
    }
    return "progress: " + parts.joined(separator: ", ")
  }
}
