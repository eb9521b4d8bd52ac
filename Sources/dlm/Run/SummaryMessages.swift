import Comparing
import DownloadModel
import TerminalProgress

/// The messages at the end of a run.
struct SummaryMessages {
  let report: RunReport
  var comparison: RunTimes.Comparison?
  /// The command that continues the run.
  var again = ""
  /// A note about that command.
  var note = ""
  /// The names of the run's lists.
  var lists: [String] = []
  /// Whether the run was only for a comparison, and none of its files is kept.
  var isRepeat = false
  /// Whether checksums and long lists of failures are shortened: at a terminal, without `-v`.
  var shortens = false
  /// The file of `--failed`.
  var failedList: String?
  /// The command that downloads the files of that list.
  var failedAgain = ""

  /// Failures first, so that the summary stays on the screen.
  var lines: [String] {
    if report.tally.listed == 0, report.signal == nil {
      let empty = "dlm: \(lists.joined(separator: ", ")) \(lists.count == 1 ? "has" : "have") no URLs"
      return report.rejections.isEmpty ? [empty] : failureLines
    }
    var lines = failureLines + [headline]
    if let lesson = report.lesson { lines.append("  " + LessonMessages.text(lesson, atOnce: report.jobs)) }
    // "Up to date" already contains it.
    let isSaid = isUpToDate && breakdown == "\(Quantity.count(report.tally.done)) unchanged"
    if let breakdown, !isSaid { lines.append("  " + breakdown) }
    if !proof.isEmpty { lines.append("  " + proof.joined(separator: ", ")) }
    lines += [numbered, pages].compactMap(\.self)
    if report.notBegun > 0 {
      lines.append("\(Quantity.count(report.notBegun)) more were not started: the disk cannot be written")
    }
    if let comparison { lines.append(Self.text(comparison, report)) }
    if isRepeat { return lines }
    if report.signal != nil {
      lines += interruption
    } else if report.failures.contains(where: FailureMessages.isWorthRepeating) {
      lines += command("To try again", "complete files are not downloaded again")
    } else if !failedAgain.isEmpty, !report.failures.isEmpty {
      lines += ["To try these again:", "    " + failedAgain]
    }
    return lines
  }

  /// The lines of `-q`: failures, and how to continue.
  var quietLines: [String] { [pages].compactMap(\.self) + failureLines + (isRepeat ? [] : interruption) }

  private var interruption: [String] {
    report.signal.map { command("\($0 == 2 ? "Interrupted" : "Stopped"): \(standing). Resume with") } ?? []
  }

  /// The command is alone on its line, so that it can be copied.
  private func command(_ lead: String, _ notes: String...) -> [String] {
    let notes = (notes + [note]).filter { !$0.isEmpty }.joined(separator: "; ")
    return [lead + (notes.isEmpty ? ":" : " (\(notes)):"), "    " + again]
  }

  /// `1,000 files, 61.0 MiB in 3.2 s (19.1 MiB/s), parallel, 16 at a time`
  var headline: String {
    let tally = report.tally
    if isUpToDate { return "up to date: \(Quantity.files(tally.done)), \(Quantity.bytes(tally.finishedBytes))" }
    var line = "\(Quantity.files(tally.done)), \(amount), \(report.mode.rawValue)"
    if report.mode != .sequential {
      if report.jobs > 1 || !report.adaptsJobs {
        line += report.adaptsJobs ? ", up to \(report.jobs) at once" : ", \(report.jobs) at once"
      }
      if report.width.connections > report.jobs {
        line += " over \(Quantity.count(report.width.connections)) connections"
      }
    }
    let lost = Self.counted([
      (tally.failed, "failed"), (tally.givenUp, "skipped by you"),
      (tally.undecided, "not answered (the new files keep the names that they have)"),
    ])
    return lost.isEmpty ? line : "\(line); \(lost.joined(separator: ", "))"
  }

  /// Whether every file existed, and none was changed or left undecided.
  private var isUpToDate: Bool {
    let tally = report.tally
    return report.signal == nil && tally.done > 0 && tally.done == tally.unchanged + tally.fresh
      && tally.stale + tally.failed + tally.givenUp + tally.undecided == 0
  }

  /// `61.0 MiB in 3.2 s (19.1 MiB/s)`, `64.0 MiB, 3.0 MiB of it downloaded in 3.2 s (960 KiB/s)`: the rate is of the
  /// bytes before it.
  private var amount: String {
    let tally = report.tally
    let all = Quantity.bytes(tally.finishedBytes)
    let fetched = Quantity.bytes(tally.bodyBytes)
    // If the run was interrupted, or every file failed, most received bytes belong to incomplete files.
    if report.received > tally.finishedBytes, report.signal != nil || tally.finishedBytes == 0 {
      return "\(Quantity.bytes(report.received)) received in \(time(rateOf: report.received))"
    }
    // A watch mostly waits, so it has no rate.
    if tally.bodyBytes == 0 || report.listing == .watched { return "\(all) in \(Quantity.duration(report.elapsed))" }
    return (all == fetched ? all : "\(all), \(fetched) of it downloaded") + " in \(time(rateOf: tally.bodyBytes))"
  }

  private func time(rateOf bytes: Int64) -> String {
    let rate = Double(bytes) / max(report.elapsed / .seconds(1), 0.001)
    return "\(Quantity.duration(report.elapsed)) (\(Quantity.rate(rate)))"
  }

  /// `0 of 40 files done, 31.0 MiB of the next 24 saved`
  private var standing: String {
    let tally = report.tally
    let isOpen = report.listing == .brokenOff && !tally.listIsComplete
    let all = (isOpen ? "at least " : "") + Quantity.files(tally.listed)
    let next = tally.cancelled > 1 ? "the next \(Quantity.count(tally.cancelled))" : "the next"
    let kept = tally.keptBytes > 0 ? ["\(Quantity.bytes(tally.keptBytes)) of \(next) saved"] : []
    return (["\(Quantity.count(tally.done)) of \(all) done"] + Self.counted([(tally.undecided, "not answered")]) + kept)
      .joined(separator: ", ")
  }

  private static func counted(_ parts: [(count: Int, what: String)]) -> [String] {
    parts.filter { $0.count > 0 }.map { "\(Quantity.count($0.count)) \($0.what)" }
  }

  /// The results of the files, unless all were simply downloaded.
  private var breakdown: String? {
    let tally = report.tally
    let others =
      Self.counted([
        (tally.sameAsHere, "of them identical to the existing file"), (tally.withoutContent, "empty (204 No Content)"),
        (tally.decoded, "decompressed (the server had compressed them unasked)"),
        (tally.notCoded, "not compressed, though their Content-Encoding says so"), (tally.fresh, "fresh"),
        (tally.unchanged, "unchanged"), (tally.copied, "from cache"),
        (tally.replaced, "of them replacing an existing file"),
        (tally.stale, "of them stale (the server was not asked, or failed)"),
        (tally.skipped, "skipped (a file existed)"),
      ]) + (tally.resumedBytes > 0 ? ["\(Quantity.bytes(tally.resumedBytes)) resumed"] : [])
    guard !others.isEmpty else { return nil }
    let fetched = Self.counted([(tally.fetched, "downloaded (\(Quantity.bytes(tally.bodyBytes)))")])
    return (fetched + others).joined(separator: ", ")
  }

  /// Files with a stronger or weaker proof than their length.
  private var proof: [String] {
    let proven = report.tally.provenByDigest
    let weakly = report.tally.provenWeakly
    let weak = "md5, sha1 or crc32c, which finds damage but no forgery"
    return Self.counted([
      (proven, "verified by checksum" + (proven == weakly ? ": \(weak)" : "")),
      (proven == weakly ? 0 : weakly, "of them only by \(weak)"),
      (report.tally.unproven, "not verified (the server gave no length; --require-proof rejects that)"),
    ])
  }

  private var numbered: String? {
    kept(report.tally.numberedNames, of: report.tally.numbered).map { "  Numbered, because the name was taken: \($0)" }
  }

  private var pages: String? {
    kept(report.tally.pageNames, of: report.tally.pages).map {
      "  HTML under other names, perhaps login or error pages: \($0); look at them, or reject them with --expect"
    }
  }

  /// `nil` for no names, and in a run whose files are deleted.
  private func kept(_ names: [String], of count: Int) -> String? {
    count > 0 && !isRepeat ? Self.shown(names.sorted(), of: count) : nil
  }

  private static func shown(_ names: [String], of count: Int) -> String {
    let more = count > names.count ? " and \(Quantity.count(count - names.count)) more" : ""
    return names.joined(separator: ", ") + more
  }

  static func unusedChecksums(_ names: [String]) -> [String] {
    guard !names.isEmpty else { return [] }
    return ["dlm: in the checksum list, but not in this run: \(shown(Array(names.prefix(3)), of: names.count))"]
  }

  /// How many failures are named: all in a log, unless a file contains them.
  private var mostNamed: Int { shortens || failedList != nil ? 10 : .max }

  var failureLines: [String] {
    let groups = FailureMessages.groups(of: report.failures).prefix(mostNamed)
    let rejections = report.rejections.prefix(mostNamed)
    var lines = rejections.map { RejectionMessages($0).said }
    // One of each kind, and then as many as there is room for.
    var room = max(0, mostNamed - rejections.count - groups.count)
    var left = report.rejections.count + report.failures.count + report.moreFailures - rejections.count
    for group in groups {
      let named = group.errors.prefix(room + 1)
      room -= named.count - 1
      left -= named.count
      lines += group.messages.lines(Array(named), of: group.errors.count, shortens: shortens)
    }
    if left > 0 {
      let place = failedList.map { ", in \($0)" } ?? "; --failed FILE writes a list of all"
      lines.append("dlm: and \(Quantity.count(left)) more\(place)")
    }
    // A scratch folder is deleted with its files.
    if isRepeat { lines = lines.map { $0.replacing(/: what can be resumed is saved|saved as .*?;\s/, with: "") } }
    return lines
  }

  /// Compares two earlier runs, after one that downloaded nothing.
  static func earlier(_ fast: PastRun, _ slow: PastRun) -> String {
    let times = [fast, slow].map { "\($0.mode.rawValue) \(Quantity.duration(.seconds($0.seconds)))" }
    let ratio = slow.seconds / max(fast.seconds, 0.001)
    let verdict =
      ratio < Conclusion.Certainty.leastFactor
      ? "a tie." : "\(fast.mode.rawValue) was \(Quantity.decimal(ratio, 10)) times as fast."
    return "Nothing was downloaded, so nothing was measured. Earlier: \(times.joined(separator: ", ")): \(verdict)"
  }

  private static func text(_ comparison: RunTimes.Comparison, _ report: RunReport) -> String {
    let run = comparison.run
    let took = "The same list in mode \(run.mode.rawValue) took \(Quantity.duration(.seconds(run.seconds)))"
    if let obstacle = comparison.obstacle {
      return "\(took); not comparable: \(reason(obstacle, run, report)). "
        + "dlm compare --mode \(run.mode.rawValue) \(report.mode.rawValue) measures both."
    }
    let ratio = run.seconds / max(report.elapsed / .seconds(1), 0.001)
    if max(ratio, 1 / max(ratio, 0.001)) < Conclusion.Certainty.leastFactor { return "\(took): a tie." }
    return ratio >= 1
      ? "\(took): this run was \(Quantity.decimal(ratio, 10)) times as fast."
      : "\(took): that was \(Quantity.decimal(1 / ratio, 10)) times as fast as this run."
  }

  private static func reason(_ obstacle: PastRun.Obstacle, _ run: PastRun, _ report: RunReport) -> String {
    switch obstacle {
    case .sameStrategy: return "both modes run a task group"
    case .otherWork:
      let failed = run.failed > 0 ? " (\(Quantity.count(run.failed)) failed)" : ""
      return "that run downloaded \(Quantity.bytes(run.transferredBytes))\(failed)"
    case .waited:
      let time = run.waited.map { .seconds($0) } ?? report.width.waited
      return "\(run.waited == nil ? "this" : "that") run waited \(Quantity.duration(time)) for a busy server"
    }
  }
}
