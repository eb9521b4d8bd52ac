import DownloadModel

/// What stands in place of the rows while a key has opened it: the keys, one file, or what has failed.
struct ScreenPanel {
  enum Content {
    case help
    case details(Details)
    /// What failed so far, the latest last.
    /// - Parameters:
    ///   - skipped: how many of the latest are below the lowest line.
    ///   - total: how many failed, also those that are not kept.
    case failures([FailureTail.Failure], skipped: Int, total: Int)
  }

  /// All that is known of one file under way.
  struct Details {
    var row: ActiveRow
    /// Those of its transfers that are under way.
    var transfers: [TransferDetails]
    var isPaused = false
  }

  private static let labelWidth = 11

  private let layout: FrameLayout
  private var glyphs: Glyphs { layout.glyphs }
  private var usable: Int { layout.columns.usable }

  init(layout: FrameLayout) { self.layout = layout }

  /// - Parameter most: how many lines there is room for.
  func lines(_ content: Content, at now: Duration, most: Int) -> [String] {
    guard most > 0, usable > RowColumns.indent else { return [] }
    let lines: [String]
    switch content {
    case .help: return help(most)
    case .failures(let failures, let skipped, let total):
      return self.failures(failures, skipped, total, most)
    case .details(let details): lines = self.details(details, at: now)
    }
    return Array(lines.prefix(most))
  }

  // MARK: The keys

  private static let keys: [(key: String, short: String, long: String)] = [
    ("p", "pause", "pause: no file begins and no byte comes, until p is pressed again"),
    ("+ -", "files at a time", "more or fewer files at a time"),
    ("up, down", "select", "select a file"),
    ("s", "skip", "skip the selected file: what has come of it is kept"),
    ("d", "details", "details of the selected file"),
    ("f", "failures", "what has failed so far"),
    ("q", "stop", "stop, and keep what has come, as Ctrl-C does"),
    ("?", "keys", "these keys; ? or Escape closes a panel"),
  ]

  /// A line each, or, where there is no room for that, as many as fit in a line.
  private func help(_ most: Int) -> [String] {
    if most >= Self.keys.count {
      return Self.keys.map { entry(entry: $0.key, $0.long) }
    }
    var lines: [StyledLine] = []
    for key in Self.keys {
      let text = "\(key.key) \(key.short)"
      let needed = CellWidth.of(text) + RowColumns.gap
      if lines.isEmpty || lines[lines.count - 1].width + needed > usable {
        lines.append(layout.line)
        lines[lines.count - 1].pad(to: min(RowColumns.indent, usable))
      } else {
        lines[lines.count - 1].pad(to: lines[lines.count - 1].width + RowColumns.gap)
      }
      append(TextCut.atEnd(text, to: usable - lines[lines.count - 1].width, ellipsis: ""), to: &lines)
    }
    return lines.prefix(most).map(\.text)
  }

  private func append(_ text: String, to lines: inout [StyledLine]) { lines[lines.count - 1].append(text) }

  // MARK: One file

  private func details(_ details: Details, at now: Duration) -> [String] {
    let row = details.row
    var title = layout.line
    title.pad(to: min(RowColumns.indent, usable))
    title.append(TextCut.inMiddle(row.name, to: usable - title.width, ellipsis: glyphs.ellipsis), .strong)
    let facts: [(String, String)] = [
      ("address", StyledLine.shown(row.address, glyphs)), ("so far", progress(of: row, at: now)),
      ("now", details.isPaused ? "paused" : state(of: row, at: now)),
      ("connection", Self.connections(details.transfers)), ("times", Self.times(details.transfers)),
      ("segments", segments(details)), ("proof", Self.proof(of: row)),
    ]
    return [title.text]
      + facts.filter { !$0.1.isEmpty }.map { entry(entry: $0.0, StyledLine.shown($0.1, glyphs)) }
  }

  private func entry(entry label: String, _ text: String) -> String {
    var line = layout.line
    line.pad(to: min(RowColumns.indent + 2, usable))
    line.append(TextCut.atEnd(label, to: usable - line.width, ellipsis: ""), .strong)
    line.pad(to: min(RowColumns.indent + 2 + Self.labelWidth, usable))
    if line.width < usable { line.append(" ") }
    line.append(TextCut.inMiddle(text, to: usable - line.width, ellipsis: glyphs.ellipsis))
    return line.text
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
    guard let status = row.status(at: now) else { return "receiving" }
    if case .retry(let retry) = status {
      return RetryMessages.text(StyledLine.shown(retry.cause, glyphs), retry.next)
    }
    return StatusMessages.text(status, at: now, width: usable)
  }

  private static func connections(_ transfers: [TransferDetails]) -> String {
    guard let first = transfers.first, let peer = first.peer else { return "" }
    var text = peer
    if let version = first.httpVersion { text += ", \(version)" }
    text += first.isReused ? ", kept from a file before" : ", opened for it"
    let others = transfers.count - 1
    if others > 0 { text += " (and \(Quantity.count(others)) more)" }
    return text
  }

  /// Each from the start of the transfer.
  private static func times(_ transfers: [TransferDetails]) -> String {
    guard let first = transfers.first else { return "" }
    let parts: [(String, Duration?)] = [
      ("looked up", first.lookedUp), ("connected", first.connected), ("TLS", first.secured),
      ("first byte", first.firstByte),
    ]
    let told = parts.compactMap { name, time in time.map { "\(name) after \(Quantity.duration($0))" } }
    return told.joined(separator: ", ")
  }

  private func segments(_ details: Details) -> String {
    guard let parts = details.row.parts, parts.count > 1 else {
      return details.transfers.count > 1 ? "\(details.transfers.count) under way" : "one, not split"
    }
    let spans = parts.map { "\(Quantity.bytes($0.lowerBound))-\(Quantity.bytes($0.upperBound))" }
    return "\(details.transfers.count) under way, there are " + spans.joined(separator: " ")
  }

  private static func proof(of row: ActiveRow) -> String {
    if row.hasDigest { return "its checksum is compared at the end" }
    return row.progress.total != nil
      ? "its length is compared at the end" : "the server gave no length: how the answer ends says it"
  }

  // MARK: What has failed

  private func failures(
    _ failures: [FailureTail.Failure], _ skipped: Int, _ total: Int, _ most: Int
  ) -> [String] {
    var title = layout.line
    title.pad(to: min(RowColumns.indent, usable))
    let words = total == 0 ? "Nothing has failed so far." : "\(Quantity.count(total)) failed so far:"
    title.append(TextCut.atEnd(words, to: usable - title.width, ellipsis: ""), .strong)
    let shown = failures.dropLast(skipped).suffix(max(0, most - 1))
    let least = max(8, (usable - RowColumns.indent) / 3)
    return [title.text] + shown.map { $0.line(layout, nameAtLeast: least).text }
  }
}

/// The latest failures of a run.
struct FailureTail: Sendable {
  struct Failure: Sendable, Equatable {
    /// Empty for a line of a list, which its cause names.
    var name: String
    var cause: String

    /// The name is cut first, down to what still tells it from others, then the cause.
    func line(_ layout: FrameLayout, nameAtLeast least: Int) -> StyledLine {
      let (glyphs, usable) = (layout.glyphs, layout.columns.usable)
      var line = layout.line
      line.append(glyphs.failed, .failed)
      line.pad(to: RowColumns.indent)
      let (name, cause) = (StyledLine.shown(name, glyphs), StyledLine.shown(cause, glyphs))
      let gap = name.isEmpty || cause.isEmpty ? 0 : RowColumns.gap
      let room = usable - line.width
      let forCause = max(0, min(CellWidth.of(cause), room - min(CellWidth.of(name), least) - gap))
      line.append(TextCut.inMiddle(name, to: max(0, room - gap - forCause), ellipsis: glyphs.ellipsis))
      guard forCause > 2 else { return line }
      line.pad(to: line.width + gap)
      line.append(TextCut.atEnd(cause, to: usable - line.width, ellipsis: glyphs.ellipsis), .failed)
      return line
    }
  }

  /// As many as anyone looks through with an arrow. All of them are in the summary.
  private static let limit = 500

  private(set) var all: [Failure] = []

  mutating func take(_ events: [ProgressEvent], _ words: ProgressMessages) {
    for event in events {
      switch event {
      case .ended(let address, .failure(let error)) where !error.isOfUser:
        all.append(Failure(name: ActiveRow.name(of: address, .unicode), cause: words.cause(error)))
      case .rejected(let rejection): all.append(Failure(name: "", cause: words.rejection(rejection)))
      case .began, .retry, .waitsForAnotherProcess, .ended, .watch: break
      }
    }
    if all.count > Self.limit { all.removeFirst(all.count - Self.limit) }
  }
}

/// What is said to a key.
enum NoteMessages {
  static func text(_ note: ScreenState.Note) -> String {
    switch note {
    case .unknownKey: "? shows the keys"
    case .selectFirst: "select a file first, with the arrows"
    case .nothingSelected: "no file is under way that could be selected"
    case .hasEnded: "that file has ended"
    case .skipping: "skipping it: what has come is kept"
    case .stopping: "stopping: what has come is kept"
    case .text(let text): text
    }
  }
}
