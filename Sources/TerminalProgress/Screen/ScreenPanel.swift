import DownloadModel

/// A panel that a key has opened, beside the rows or below them: the keys, one file, or the failures.
struct ScreenPanel: LaidOut {
  enum Content {
    case help
    /// The details of one file, and of its transfers in flight.
    case details(ActiveRow, [TransferDetails], isPaused: Bool)
    /// The latest last: `skipped` of them are below the lowest line; `total` also counts those not kept.
    case failures([WaitLines.Failure], skipped: Int, total: Int)
  }

  let layout: FrameLayout

  /// - Parameter rows: the number of lines that a long list of failures leaves to rows.
  func lines(_ content: Content, at now: Duration, most: Int, leaving rows: Int = 0) -> [CellLine] {
    guard most > 0, usable > RowColumns.indent else { return [] }
    let lines: [CellLine]
    switch content {
    case .help:
      // If there is no room for a line each, their first words.
      let short = Self.keys.map { "\($0.0) \($0.1.prefix { $0.isLetter })" }.joined(separator: glyphs.separator)
      let packed = TextWrap.filled(short, cells: usable - RowColumns.indent).map { layout.line(text: $0) }
      let long = Self.keys.flatMap { entry($0.0, $0.1, labels: 9) }
      lines = long.count <= most ? long : packed
    case .details(let row, let transfers, let isPaused): lines = details(row, transfers, isPaused, at: now)
    case .failures(let latest, let skipped, let total):
      lines = failures(latest.dropLast(skipped), total, most: most - rows)
    }
    return Array(lines.prefix(most))
  }

  /// As many as fit completely, the latest last.
  private func failures(_ failures: ArraySlice<WaitLines.Failure>, _ total: Int, most: Int) -> [CellLine] {
    let title = total == 0 ? "Nothing has failed so far." : "\(Quantity.count(total)) failed so far:"
    let lines = failures.suffix(most).flatMap(failure).suffix(max(0, most - 1))
    return [layout.line(text: title, .strong)] + lines.drop { $0.cells.first?.isBlank == true }
  }

  /// Name and cause, on two lines if they do not fit side by side.
  private func failure(_ failure: WaitLines.Failure) -> [CellLine] {
    let name = TerminalText.shown(failure.name, glyphs)
    let cause = TerminalText.shown(failure.cause, glyphs)
    let room = usable - RowColumns.indent
    if CellWidth.of(name) + RowColumns.gap + CellWidth.of(cause) <= room {
      return [WaitLines(layout: layout).line(failure)]
    }
    let texts = TextWrap.filled(name, cells: room) + TextWrap.filled(cause, cells: max(1, room - RowColumns.gap))
    return texts.filter { !$0.isEmpty }.enumerated().map { index, text in
      var line = layout.line(index == 0 ? glyphs.failed : "", .failed)
      line.append(index == 0 ? text : "  " + text, upTo: usable, index == 0 ? .plain : .failed)
      return line
    }
  }

  /// The label at the left, and the text wrapped at its right.
  private func entry(_ label: String, _ text: String, labels: Int = 11) -> [CellLine] {
    let start = min(RowColumns.indent + labels + 1, usable)
    return TextWrap.filled(text, cells: max(1, usable - start)).enumerated().map { index, part in
      var line = layout.line(text: index == 0 ? label : "", .strong)
      line.pad(to: start)
      line.append(part, upTo: usable)
      return line
    }
  }

  // MARK: The keys

  private static let keys = [
    ("p", "pause or resume all transfers"), ("+ -", "more or fewer files at once"),
    ("< >", "rate: halves or doubles its limit"),
    ("up, down", "select a file"), ("s", "skip the selected file; what can be resumed is saved"),
    ("d", "details of the selected file"), ("f", "failures so far"),
    ("q, b", "stop; go on without this terminal"), ("?", "keys; ? or Escape closes a panel"),
  ]

  // MARK: One file

  private func details(
    _ row: ActiveRow, _ transfers: [TransferDetails], _ isPaused: Bool, at now: Duration
  ) -> [CellLine] {
    let title = TextWrap.filled(row.name, cells: usable - RowColumns.indent).map { layout.line(text: $0, .strong) }
    let facts = [
      ("URL", row.address.redacted), ("so far", progress(of: row, at: now)),
      ("now", isPaused ? "paused" : state(of: row, at: now)), ("connection", Self.connections(transfers)),
      ("times", Self.times(transfers)), ("proof", Self.proof(of: row)),
      ("segments", Self.segments(row, transfers.count)),
    ]
    return title + facts.filter { !$0.1.isEmpty }.flatMap { entry($0.0, TerminalText.shown($0.1, glyphs)) }
  }

  private func progress(of row: ActiveRow, at now: Duration) -> String {
    let progress = row.progress
    var text = Quantity.bytes(progress.position)
    if let total = progress.total { text += " of \(Quantity.bytes(total))" }
    if let fraction = progress.fraction { text += ", \(Int(fraction * 100))%" }
    if progress.start > 0 { text += ", \(Quantity.bytes(progress.start)) of it from before" }
    let rate = row.rate.rate(at: now)
    if rate >= 1 { text += ", \(Quantity.rate(rate))" }
    if let left = row.timeLeft(at: now) { text += ", \(Quantity.countdown(left)) left" }
    return text
  }

  private func state(of row: ActiveRow, at now: Duration) -> String {
    switch row.status(at: now) {
    case nil: "receiving"
    case .retry(let retry): RetryMessages.text(retry.cause, retry.next)
    case let status?: StatusMessages.text(status, at: now, width: usable)
    }
  }

  private static func connections(_ transfers: [TransferDetails]) -> String {
    guard let first = transfers.first, let peer = first.peer else { return "" }
    var text = transfers.count > 1 ? "\(transfers.count) of them, the first to \(peer)" : peer
    if let version = first.httpVersion { text += ", \(version)" }
    text += first.isReused ? ", kept from a file before" : ", opened for it"
    return text
  }

  /// Each from the start of the transfer.
  private static func times(_ transfers: [TransferDetails]) -> String {
    guard let first = transfers.first else { return "" }
    let parts = [
      ("looked up", first.lookedUp), ("connected", first.connected), ("TLS", first.secured),
      ("first byte", first.firstByte),
    ]
    return parts.compactMap { name, time in time.map { "\(name) after \(Quantity.duration($0))" } }
      .joined(separator: ", ")
  }

  private static func segments(_ row: ActiveRow, _ count: Int) -> String {
    guard let parts = row.parts, parts.count > 1 else { return count > 1 ? "\(count) under way" : "one, not split" }
    let spans = parts.map { "\(Quantity.bytes($0.lowerBound))-\(Quantity.bytes($0.upperBound))" }
    return "\(count) under way, there are " + spans.joined(separator: " ")
  }

  private static func proof(of row: ActiveRow) -> String {
    if row.meter.hasDigest { return "its checksum is compared at the end" }
    return row.progress.total != nil
      ? "its length is compared at the end" : "the server gave no length: only the end of its answer tells"
  }
}
