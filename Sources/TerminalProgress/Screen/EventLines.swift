import DownloadModel

/// Lines that scroll away above the bars, one for each downloaded file. Failures are shown in the region (`WaitLines`)
/// and listed once, at the end; existing files are only counted.
struct EventLines: LaidOut {
  /// If more files finish in one frame, only some of them are named.
  private static let limit = 40
  /// The number of files that are named then.
  private static let named = 8

  let layout: FrameLayout
  let words: ProgressMessages

  func lines(_ events: [ProgressEvent]) -> [String] {
    let done = events.count { $0.isNamed }
    var unnamed = done > Self.limit ? done - Self.named : 0
    let more = "\(glyphs.ellipsis) \(Quantity.count(unnamed)) more done"
    var lines = unnamed > 0 ? [line(glyphs.done, .done, more, .dim)] : []
    for event in events {
      if unnamed > 0, event.isNamed {
        unnamed -= 1
      } else if let line = line(event) {
        lines.append(line)
      }
    }
    return lines
  }

  private func line(_ event: ProgressEvent) -> String? {
    switch event {
    case .ended(_, .success(let outcome)) where event.isNamed: return done(outcome)
    case .ended(let request, .failure(let error)) where error.code == .skipped:
      return noted(request.address, "skipped: what can be resumed is saved", .dim)
    case .restarted(let request, let reason):
      return noted(request.address, RetryMessages.text(reason), .retry)
    case .waitsForAnotherProcess(let request, let process):
      return noted(request.address, OutcomeNote.waits(for: process), .retry)
    // Files of watched lists have rows of their own, and waits are shown below.
    case .began, .ended, .retry, .rejected, .watch(.removed), .watch(.asking), .watch(.waiting): return nil
    case .watch(let news):
      return line(glyphs.retry, .retry, TerminalText.shown(WatchMessages.text(news, words).text, glyphs), .dim)
    }
  }

  private func noted(_ address: Address, _ note: String, _ tone: Tone) -> String {
    line(glyphs.retry, .retry, "\(ActiveRow.name(of: address, glyphs))  \(note)", tone)
  }

  private func line(_ sign: String, _ signTone: Tone, _ text: String, _ tone: Tone) -> String {
    var line = layout.line(sign, signTone)
    line.append(text, upTo: usable, tone)
    return line.text
  }

  /// Name, size and note. Sizes are aligned unless a long name or note needs the room.
  private func done(_ outcome: DownloadOutcome) -> String {
    var line = layout.line(glyphs.done, .done)
    let name = TerminalText.shown(outcome.name, glyphs)
    let note = TerminalText.shown(OutcomeNote.text(outcome), glyphs)
    let gap = RowColumns.gap
    let size = gap + RowColumns.bytesWidth
    guard usable >= RowColumns.indent + size + 12 else {
      line.append(name, upTo: usable)
      return line.text
    }
    let free = usable - line.width - size - (note.isEmpty ? 0 : gap + CellWidth.of(note))
    line.append(name, left: min(max(layout.columns.name, CellWidth.of(name)), max(12, free)))
    line.append(Quantity.bytes(outcome.size), right: size, .dim)
    if !note.isEmpty, line.width + gap < usable {
      line.leaveGap()
      line.append(note, upTo: usable, .dim)
    }
    return line.text
  }
}
