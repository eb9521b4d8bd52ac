import DownloadModel

/// What scrolls away above the bars: a line for each file that was fetched.
///
/// What failed is in the region while the run goes on (`WaitLines`), and told once, at the end, where all of it stands
/// together. What was here already is only counted.
struct EventLines {
  /// Files that may end well in one frame before only some of them are named.
  private static let limit = 40
  /// How many are named then.
  private static let named = 8

  private let layout: FrameLayout
  private let words: ProgressMessages
  private var glyphs: Glyphs { layout.glyphs }
  private var usable: Int { layout.columns.usable }

  init(layout: FrameLayout, words: ProgressMessages) { (self.layout, self.words) = (layout, words) }

  /// As many as can be read.
  func lines(_ events: [ProgressEvent]) -> [String] {
    let done = events.count { $0.isNamed }
    var unnamed = done > Self.limit ? done - Self.named : 0
    var lines: [String] = []
    if unnamed > 0 { lines.append(manyDone(unnamed)) }
    for event in events {
      if unnamed > 0, event.isNamed {
        unnamed -= 1
      } else {
        lines += self.lines(event)
      }
    }
    return lines
  }

  private func lines(_ event: ProgressEvent) -> [String] {
    switch event {
    case .ended(_, .success(let outcome)) where event.isNamed: [done(outcome)]
    case .ended(let address, .failure(let error)) where error.code == .skipped: [skipped(address)]
    case .waitsForAnotherProcess(let address, let process): [waits(address, process)]
    case .watch(let news): self.news(news)
    case .began, .ended, .retry, .rejected: []
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

  private func skipped(_ address: Address) -> String {
    var line = mark(glyphs.retry, .retry)
    appendRest("\(ActiveRow.name(of: address, glyphs))  skipped: what has come is kept", to: &line, .dim)
    return line.text
  }

  private func waits(_ address: Address, _ process: Int?) -> String {
    var line = mark(glyphs.retry, .retry)
    appendRest("\(ActiveRow.name(of: address, glyphs))  \(OutcomeNote.waits(for: process))", to: &line, .retry)
    return line.text
  }

  /// What lists have become; their files have rows of their own, and waiting is told below.
  private func news(_ news: WatchNews) -> [String] {
    switch news {
    case .removed, .asking, .waiting: return []
    case .missing, .unreadable, .changed:
      var line = mark(glyphs.retry, .retry)
      let text = WatchMessages(words: words).text(news).text
      appendRest(StyledLine.shown(text, glyphs), to: &line, .dim)
      return [line.text]
    }
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
  /// Whether it is a file that ended well, and that is not only counted.
  var isNamed: Bool {
    guard case .ended(_, .success(let outcome)) = self else { return false }
    switch outcome.kind {
    case .fetched, .skipped: return true
    case .unchanged, .fresh, .copied: return outcome.renamedFrom != nil
    }
  }
}
