import DownloadModel

/// The lines above the total: what waits, for what, and for how long. Empty if nothing waits.
struct WaitLines: LaidOut {
  struct Content {
    /// As many failures as a user may look through with an arrow key. All of them are in the summary.
    private static let limit = 500

    /// The hosts that accept no more requests for now, the one with the most files first.
    var hosts: [HostWait] = []
    /// Further connections of split files, without the first of each.
    var further = 0
    var retries: [ActiveRow.Retry] = []
    /// Set for a run that watches its lists.
    var watch: WatchStatus?
    /// The cause for which the list waits.
    var awaited: String?
    /// The last refusal of each host; a busy host answers, but accepts no more.
    fileprivate var refusals: [String: (cause: String, isBusy: Bool)] = [:]
    private(set) var failures: [Failure] = []

    mutating func take(_ sample: ProgressSample, _ words: ProgressMessages) {
      hosts = sample.hosts
      further = sample.further
      watch = sample.watch
      awaited = sample.awaited
      for event in sample.events {
        switch event {
        case .ended(let request, .failure(let error)) where !error.isOfUser:
          failures.append(Failure(name: ActiveRow.name(of: request.address, .unicode), cause: words.cause(error)))
        case .rejected(let rejection): failures.append(Failure(name: "", cause: words.rejection(rejection)))
        case .retry(let request, _, let error):
          guard let isBusy = Self.isBusy(error) else { continue }
          refusals[request.address.hostAndPort] = (words.cause(error), isBusy)
        case .began, .restarted, .waitsForAnotherProcess, .ended, .watch: break
        }
      }
      if failures.count > Self.limit { failures.removeFirst(failures.count - Self.limit) }
      // With a long list's thousands of hosts, only those that keep files waiting are kept.
      if refusals.count > 64 {
        let waiting = Set(hosts.map(\.host))
        refusals = refusals.filter { waiting.contains($0.key) }
      }
    }

    /// Time until the last of them is retried.
    func longest(at now: Duration) -> Duration {
      (hosts.compactMap(\.pause) + retries.map { $0.until - now }).max() ?? .zero
    }

    /// Whether a failure comes from a host that answers but accepts no more for now; `nil` if it is the file's.
    private static func isBusy(_ error: DownloadError) -> Bool? {
      if error.wasTurnedAway || error.isRequeued { return true }
      return switch error.code {
      case .status: true
      case .connect, .resolve, .timeout: false
      default: nil
      }
    }
  }

  struct Failure {
    /// Empty for a line of a list, which its cause names.
    var name: String
    var cause: String
  }

  private static let firstMoment = Duration.seconds(1)
  /// Cells for the first words of a cause, and for the distinguishing part of a name.
  private static let leastCause = 24
  private static let leastName = 12

  let layout: FrameLayout

  /// - Parameter tellsFailure: whether the last failure is not shown elsewhere.
  func lines(
    _ content: Content, _ total: TotalLine.Content, tellsFailure: Bool = true, at now: Duration, most: Int
  ) -> [CellLine] {
    guard most > 0, usable > RowColumns.indent else { return [] }
    let progress = total.progress
    // Why files wait: wordings of decreasing length for each. While the user pauses the run, no other reason matters.
    let reasons =
      total.isPaused
      ? [["paused, press p to resume", "paused"]]
      : content.hosts.map { reason($0, content.refusals[$0.host]) } + again(content.retries, at: now)
    var lines: [CellLine] = []
    // In the first moment every file waits, and that says nothing.
    let waits = progress.queued > 0 && (progress.running > 0 || now >= Self.firstMoment)
    let isTold = !reasons.isEmpty || progress.tally.asBefore > 0 || progress.tally.undecided > 1 || content.further > 0
    if waits || isTold {
      lines.append(state(content, progress, reasons.first ?? [], at: now))
    }
    if progress.isIdle, lines.count < most {
      if let watch = content.watch { lines.append(waiting("watching " + WatchMessages.text(watch))) }
      if let awaited = content.awaited, now >= Self.firstMoment { lines.append(waiting(awaited)) }
    }
    for reason in reasons.dropFirst() where lines.count < most {
      lines.append(layout.line(text: reason[0], ellipsis: glyphs.ellipsis, .retry))
    }
    if tellsFailure, lines.count < most, progress.tally.failed > 0, let failure = content.failures.last {
      lines.insert(failed(failure, others: progress.tally.failed - 1), at: 0)
    }
    return lines.suffix(most)
  }

  /// The longest wording that fits.
  private func state(_ content: Content, _ progress: RunProgress, _ reason: [String], at now: Duration) -> CellLine {
    let pausing = content.retries.count
    let running = max(0, progress.running - pausing)
    let waiting = progress.queued + pausing
    let over = "\(Quantity.files(running)) over \(Quantity.count(running + content.further)) connections"
    var counts = content.further > 0 ? over : "\(Quantity.count(running)) running"
    if waiting > 0 { counts += ", \(Quantity.count(waiting)) waiting" }
    // A single question is visible below.
    if progress.tally.undecided > 1 { counts += ", \(Quantity.count(progress.tally.undecided)) questions" }
    let elapsed = Quantity.countdown(.seconds(Int(max(0, now.inSeconds))))
    let longest = reason.first ?? ""
    let shortest = reason.last ?? ""
    var wordings = [[counts, longest, Self.before(progress.tally), elapsed], [counts, longest, elapsed]]
    wordings += reason.dropFirst().map { [counts, $0, elapsed] }
    wordings += [[counts, shortest], [shortest], [counts]]
    let room = usable - RowColumns.indent
    let parts = wordings.lazy.map { $0.filter { !$0.isEmpty } }.first {
      !$0.isEmpty && CellWidth.of($0.joined(separator: glyphs.separator)) <= room
    }
    var line = layout.line("")
    for (index, part) in (parts ?? [TextCut.atEnd(counts, to: room, ellipsis: "")]).enumerated() {
      if index > 0 { line.append(glyphs.separator, .dim) }
      line.append(part, reason.contains(part) ? .retry : .dim)
    }
    return line
  }

  /// Existing files, which have no row.
  private static func before(_ tally: ProgressTally) -> String {
    [(tally.unchanged + tally.fresh, "unchanged"), (tally.copied, "from cache")].filter { $0.0 > 0 }
      .map { "\(Quantity.count($0.0)) \($0.1)" }.joined(separator: ", ")
  }

  private func reason(_ wait: HostWait, _ refusal: (cause: String, isBusy: Bool)?) -> [String] {
    let host = TerminalText.shown(wait.host, glyphs)
    let next = wait.pause.map { "next in \(Quantity.wait($0, isLeft: true))" }
    let limit = "\(Quantity.count(wait.limit)) at once"
    guard wait.isLearnt || next != nil else { return ["\(host): \(limit)", limit] }
    if let interval = wait.interval {
      let words = "one request every \(Quantity.duration(interval))"
      return ["\(host): \(words)", words]
    }
    if wait.isSpent, let next {
      return ["\(host) takes no more requests for now, \(next)", "no more requests, \(next)", next]
    }
    let isSilent = refusal?.isBusy == false
    // Once it is contacted again, only its earlier behaviour is known.
    let what = isSilent ? (next == nil ? "did not answer" : "does not answer") : "is busy"
    let details = [isSilent && next != nil ? nil : limit, next].compactMap(\.self)
    let long = "\(host) \(what), \(details.joined(separator: ", "))"
    let cause = TerminalText.shown(refusal?.cause ?? "", glyphs)
    let short = next.map { ["\(host) \(what), \($0)", "\(what), \($0)", $0] } ?? [limit]
    return (cause.isEmpty ? [] : ["\(long): \(cause)"]) + [long] + short
  }

  /// Files that are retried, grouped by cause.
  private func again(_ retries: [ActiveRow.Retry], at now: Duration) -> [[String]] {
    let groups = Dictionary(grouping: retries, by: \.cause)
      .sorted { ($1.value.count, $0.key) < ($0.value.count, $1.key) }
    return groups.map { cause, retries in
      let left = (retries.map(\.until).min() ?? now) - now
      let next = "\(Quantity.files(retries.count)) again in \(Quantity.wait(left, isLeft: true))"
      let shown = TerminalText.shown(cause, glyphs)
      return shown.isEmpty ? [next] : ["\(next): \(shown)", next]
    }
  }

  private func waiting(_ text: String) -> CellLine {
    let shown = TerminalText.shown(text, glyphs)
    // The reason is more important than its subject.
    let reason = shown.firstRange(of: ": ").map { String(shown[$0.lowerBound...]) } ?? ""
    let room = max(Self.leastName, usable - RowColumns.indent - CellWidth.of(reason))
    let head = TextCut.inMiddle(String(shown.dropLast(reason.count)), to: room, ellipsis: glyphs.ellipsis)
    return layout.line(text: head + reason, ellipsis: glyphs.ellipsis, .dim)
  }

  private func failed(_ failure: Failure, others: Int) -> CellLine {
    var line = line(failure)
    let more = others > 0 ? " (and \(Quantity.count(others)) more failed)" : ""
    if line.width + CellWidth.of(more) <= usable { line.append(more, .dim) }
    return line
  }

  /// The cause is cut first, down to its first words, then the name.
  func line(_ failure: Failure) -> CellLine {
    var line = layout.line(glyphs.failed, .failed)
    let name = TerminalText.shown(failure.name, glyphs)
    let cause = TerminalText.shown(failure.cause, glyphs)
    let gap = name.isEmpty || cause.isEmpty ? 0 : RowColumns.gap
    let room = usable - line.width
    let words = min(CellWidth.of(cause), max(Self.leastCause, room - gap - CellWidth.of(name)))
    let forCause = max(0, min(words, room - gap - min(CellWidth.of(name), Self.leastName)))
    line.append(TextCut.inMiddle(name, to: max(0, room - gap - forCause), ellipsis: glyphs.ellipsis))
    guard forCause > 2 else { return line }
    line.leaveGap(gap)
    line.append(cause, upTo: usable, .failed)
    return line
  }
}
