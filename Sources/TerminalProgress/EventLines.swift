import DownloadModel

/// What scrolls away above the bars: a line for each file that ended, was tried again or was refused.
struct EventLines {
  /// Files that may end well in one frame before only some of them are named.
  private static let limit = 40
  /// How many are named then.
  private static let named = 8

  private let layout: FrameLayout
  private let words: ProgressMessages
  private var glyphs: Glyphs { layout.glyphs }
  private var usable: Int { layout.columns.usable }

  init(layout: FrameLayout, words: ProgressMessages) {
    self.layout = layout
    self.words = words
  }

  /// Everything that went wrong, and of what went well as much as can be read.
  func lines(_ events: [ProgressEvent]) -> [String] {
    let done = events.count { $0.isDone }
    var unnamed = done > Self.limit ? done - Self.named : 0
    var lines: [String] = []
    if unnamed > 0 { lines.append(manyDone(unnamed)) }
    for event in events {
      if unnamed > 0, event.isDone {
        unnamed -= 1
      } else {
        lines += self.lines(event)
      }
    }
    return lines
  }

  private func lines(_ event: ProgressEvent) -> [String] {
    switch event {
    case .began: []
    case .ended(_, .success(let outcome)): [done(outcome)]
    case .ended(_, .failure(let error)) where error.code == .cancelled: []
    case .ended(let address, .failure(let error)): failed(address, error)
    case .retry(let address, let next, let error): [retry(address, next, error)]
    case .waitsForAnotherProcess(let address): [waits(address)]
    case .rejected(let rejection): [rejected(rejection)]
    }
  }

  private func manyDone(_ count: Int) -> String {
    var line = mark(glyphs.done, .done)
    appendRest("\(glyphs.ellipsis) \(Quantity.count(count)) more done", to: &line, .dim)
    return line.text
  }

  /// Name, size and note; sizes stand below one another unless a long name or note needs the room.
  private func done(_ outcome: DownloadOutcome) -> String {
    var line = mark(glyphs.done, .done)
    let name = StyledLine.shown(outcome.wantedName, glyphs)
    let note = StyledLine.shown(OutcomeNote.text(outcome), glyphs)
    let gap = RowColumns.gap
    let size = gap + RowColumns.bytesWidth
    guard usable >= RowColumns.indent + size + 12 else {
      appendRest(name, to: &line)
      return line.text
    }
    let free = usable - line.width - size - (note.isEmpty ? 0 : gap + CellWidth.of(note))
    line.append(name, left: min(max(layout.columns.name, CellWidth.of(name)), max(12, free)))
    line.append(Quantity.bytes(outcome.size), right: size, .dim)
    if !note.isEmpty, line.width + gap < usable {
      line.pad(to: line.width + gap)
      appendRest(note, to: &line, .dim)
    }
    return line.text
  }

  /// Address and reason on one line, or on two where the window is narrow.
  private func failed(_ address: Address, _ error: DownloadError) -> [String] {
    var line = mark(glyphs.failed, .failed)
    let place = StyledLine.shown(address.key, glyphs)
    let reason = StyledLine.shown(words.failure(error), glyphs)
    line.append(TextCut.inMiddle(place, to: usable - line.width, ellipsis: glyphs.ellipsis))
    if line.width + RowColumns.gap + CellWidth.of(reason) <= usable {
      line.pad(to: line.width + RowColumns.gap)
      line.append(reason, .failed)
      return [line.text]
    }
    var second = layout.line
    second.pad(to: min(RowColumns.indent, usable))
    appendRest(reason, to: &second, .failed)
    return [line.text, second.text]
  }

  /// Name, reason, and what is done. Where the window is too narrow for all, the reason is cut first.
  private func retry(_ address: Address, _ next: NextAttempt, _ error: DownloadError) -> String {
    var line = mark(glyphs.retry, .retry)
    let when = RetryMessages.text(next)
    let reason = StyledLine.shown(words.cause(error), glyphs)
    let tail = CellWidth.of(RetryMessages.text(reason, next))
    let name = ActiveRow.name(of: address, glyphs)
    let room = usable - line.width - RowColumns.gap - tail
    let width = max(min(12, usable - line.width), min(room, CellWidth.of(name)))
    line.append(TextCut.inMiddle(name, to: width, ellipsis: glyphs.ellipsis))
    guard line.width + RowColumns.gap < usable else { return line.text }
    line.pad(to: line.width + RowColumns.gap)
    let rest = usable - line.width - CellWidth.of("; \(when)")
    if !reason.isEmpty, rest >= Self.leastReason {
      line.append("\(TextCut.atEnd(reason, to: rest, ellipsis: glyphs.ellipsis)); ", .retry)
    }
    appendRest(when, to: &line, .retry)
    return line.text
  }

  /// Cells below which a reason that was cut says nothing any more.
  private static let leastReason = 8

  private func waits(_ address: Address) -> String {
    var line = mark(glyphs.retry, .retry)
    appendRest("\(ActiveRow.name(of: address, glyphs))  \(OutcomeNote.waits)", to: &line, .retry)
    return line.text
  }

  private func rejected(_ rejection: Rejection) -> String {
    var line = mark(glyphs.failed, .failed)
    appendRest(StyledLine.shown(words.rejection(rejection), glyphs), to: &line)
    return line.text
  }

  private func mark(_ glyph: String, _ tone: StyledLine.Tone) -> StyledLine {
    var line = layout.line
    guard usable > RowColumns.indent else { return line }
    line.append(glyph, tone)
    line.pad(to: RowColumns.indent)
    return line
  }

  private func appendRest(_ text: String, to line: inout StyledLine, _ tone: StyledLine.Tone = .plain) {
    line.append(TextCut.atEnd(text, to: usable - line.width, ellipsis: glyphs.ellipsis), tone)
  }
}

extension ProgressEvent {
  var isDone: Bool {
    if case .ended(_, .success) = self { true } else { false }
  }
}
