import DownloadModel

/// What waits, for what, and for how long: the lines above the total. Where nothing waits there are none.
///
///     ✗ a.iso  HTTP 404 Not Found (and 2 more failed)
///       2 running, 40 waiting · host.example is busy, 2 at a time, next in 4 s · 120 unchanged · 1:23
struct WaitLines {
  struct Content: Sendable {
    /// The hosts that take no more for now, the one with most files first.
    var hosts: [HostWait] = []
    /// Files under way that are tried again.
    var retries: [ActiveRow.Retry] = []
    /// Of a run that watches its lists.
    var watch: WatchStatus?
    /// What the hosts refused with last.
    fileprivate var refusals: [String: Refusal] = [:]
    /// What failed so far.
    private(set) var failures = FailureTail()

    init() {}
  }

  fileprivate struct Refusal: Sendable {
    var cause: String
    /// It answers, but takes no more.
    var isBusy: Bool
  }

  private static let firstMoment = Duration.seconds(1)

  private let layout: FrameLayout
  private var glyphs: Glyphs { layout.glyphs }
  private var usable: Int { layout.columns.usable }

  init(layout: FrameLayout) { self.layout = layout }

  /// - Parameters:
  ///   - isPaused: whether the user holds everything back; then nothing else keeps it waiting.
  ///   - tellsFailure: whether the last failure is not shown elsewhere.
  ///   - most: how many lines there is room for.
  func lines(
    _ content: Content, _ progress: RunProgress, isPaused: Bool = false, tellsFailure: Bool = true,
    at now: Duration, most: Int
  ) -> [String] {
    guard most > 0, usable > RowColumns.indent else { return [] }
    let reasons = isPaused ? [Self.paused] : reasons(content, at: now)
    var lines: [String] = []
    // In the first moment everything waits, and that says nothing.
    let waits = progress.queued > 0 && (progress.running > 0 || now >= Self.firstMoment)
    if waits || !reasons.isEmpty || progress.tally.asBefore > 0 {
      lines.append(state(content, progress, reasons.first, at: now))
    }
    if let watch = content.watch, progress.running == 0, progress.queued == 0, lines.count < most {
      lines.append(watching(watch))
    }
    for reason in reasons.dropFirst() where lines.count < most { lines.append(further(reason)) }
    if tellsFailure, lines.count < most, progress.tally.failed > 0, let failure = content.failures.all.last {
      lines.insert(failed(failure, others: progress.tally.failed - 1), at: 0)
    }
    return Array(lines.suffix(most))
  }

  // MARK: The state

  /// The longest wording that fits.
  private func state(
    _ content: Content, _ progress: RunProgress, _ reason: Reason?, at now: Duration
  ) -> String {
    let pausing = content.retries.count
    let (running, waiting) = (max(0, progress.running - pausing), progress.queued + pausing)
    var counts = "\(Quantity.count(running)) running"
    if waiting > 0 { counts += ", \(Quantity.count(waiting)) waiting" }
    let before = Self.before(progress.tally)
    let elapsed = Quantity.countdown(.seconds(Int(max(0, now.inSeconds))))
    let forms = reason?.forms ?? [""]
    let shortest = forms[forms.count - 1]
    var wordings = [[counts, forms[0], before, elapsed], [counts, forms[0], elapsed]]
    wordings += forms.dropFirst().map { [counts, $0, elapsed] }
    wordings += [[counts, shortest], [shortest], [counts]]
    let separator = CellWidth.of(glyphs.separator)
    let room = usable - RowColumns.indent
    let parts = wordings.lazy.map { $0.filter { !$0.isEmpty } }.first { parts in
      let width = parts.reduce(0) { $0 + CellWidth.of($1) } + max(0, parts.count - 1) * separator
      return width <= room && !parts.isEmpty
    }
    var line = layout.line
    line.pad(to: RowColumns.indent)
    for (index, part) in (parts ?? [TextCut.atEnd(counts, to: room, ellipsis: "")]).enumerated() {
      if index > 0 { line.append(glyphs.separator, .dim) }
      line.append(part, reason?.forms.contains(part) == true ? .retry : .dim)
    }
    return line.text
  }

  /// What was here already, which no row tells of.
  private static func before(_ tally: ProgressTally) -> String {
    var parts: [String] = []
    if tally.unchanged + tally.fresh > 0 {
      parts.append("\(Quantity.count(tally.unchanged + tally.fresh)) unchanged")
    }
    if tally.copied > 0 { parts.append("\(Quantity.count(tally.copied)) from cache") }
    return parts.joined(separator: ", ")
  }

  // MARK: Why

  /// Why files wait, in wordings that become shorter.
  private struct Reason {
    var forms: [String]
  }

  private static let paused = Reason(forms: ["paused: p goes on", "paused"])

  private func reasons(_ content: Content, at now: Duration) -> [Reason] {
    content.hosts.map { reason($0, content.refusals[$0.host]) } + again(content.retries, at: now)
  }

  private func reason(_ wait: HostWait, _ refusal: Refusal?) -> Reason {
    let host = StyledLine.shown(wait.host, glyphs)
    let next = wait.pause.map { "next in \(Quantity.wait($0, isLeft: true))" }
    let limit = "\(Quantity.count(wait.limit)) at a time"
    guard wait.isLearnt || next != nil else { return Reason(forms: ["\(host): \(limit)", limit]) }
    let isSilent = refusal?.isBusy == false
    // Once it is asked again, all that is known is what it did before.
    let what = isSilent ? (next == nil ? "did not answer" : "does not answer") : "is busy"
    let details = [isSilent && next != nil ? nil : limit, next].compactMap(\.self)
    let long = "\(host) \(what), \(details.joined(separator: ", "))"
    var forms = [long]
    let cause = StyledLine.shown(refusal?.cause ?? "", glyphs)
    if !cause.isEmpty { forms.insert("\(long): \(cause)", at: 0) }
    if let next {
      forms += ["\(host) \(what), \(next)", "\(what), \(next)", next]
    } else {
      forms.append(limit)
    }
    return Reason(forms: forms)
  }

  /// Files that are tried again, by what went wrong with them.
  private func again(_ retries: [ActiveRow.Retry], at now: Duration) -> [Reason] {
    var groups: [String: (count: Int, until: Duration)] = [:]
    for retry in retries {
      let group = groups[retry.cause] ?? (0, retry.until)
      groups[retry.cause] = (group.count + 1, min(group.until, retry.until))
    }
    return groups.sorted {
      $0.value.count == $1.value.count ? $0.key < $1.key : $0.value.count > $1.value.count
    }
    .map { cause, group in
      let next = "\(Quantity.files(group.count)) again in \(Quantity.wait(group.until - now, isLeft: true))"
      let shown = StyledLine.shown(cause, glyphs)
      return Reason(forms: shown.isEmpty ? [next] : ["\(next): \(shown)", next])
    }
  }

  private func further(_ reason: Reason) -> String {
    var line = layout.line
    line.pad(to: RowColumns.indent)
    let room = usable - line.width
    line.append(TextCut.atEnd(reason.forms[0], to: room, ellipsis: glyphs.ellipsis), .retry)
    return line.text
  }

  // MARK: Watching

  /// `watching urls.txt; 40 files, next look in 9:58`
  private func watching(_ status: WatchStatus) -> String {
    var line = layout.line
    line.pad(to: RowColumns.indent)
    let text = StyledLine.shown("watching " + WatchMessages.text(status), glyphs)
    line.append(TextCut.inMiddle(text, to: usable - line.width, ellipsis: glyphs.ellipsis), .dim)
    return line.text
  }

  // MARK: What failed

  /// The last failure, in one line; all of them are told at the end.
  private func failed(_ failure: FailureTail.Failure, others: Int) -> String {
    var line = failure.line(layout, nameAtLeast: 12)
    let more = others > 0 ? " (and \(Quantity.count(others)) more failed)" : ""
    if line.width + CellWidth.of(more) <= usable { line.append(more, .dim) }
    return line.text
  }
}

extension WaitLines.Content {
  /// Whether a failure is a host's that answers, and takes no more for now; nil where it is the file's.
  private static func isBusy(_ error: DownloadError) -> Bool? {
    if error.wasTurnedAway || error.overtaken != nil { return true }
    return switch error.code {
    case .status: true
    case .connect, .resolve, .timeout: false
    default: nil
    }
  }

  /// Notes what happened since the last frame.
  mutating func take(_ sample: ProgressSample, _ words: ProgressMessages) {
    hosts = sample.hosts
    watch = sample.watch
    failures.take(sample.events, words)
    for case .retry(let address, _, let error) in sample.events {
      guard let isBusy = Self.isBusy(error) else { continue }
      refusals[address.hostAndPort] = .init(cause: words.cause(error), isBusy: isBusy)
    }
    // Of a long list's thousands of hosts, only those that keep something waiting are of use.
    if refusals.count > 64 {
      let waiting = Set(hosts.map(\.host))
      refusals = refusals.filter { waiting.contains($0.key) }
    }
  }
}
