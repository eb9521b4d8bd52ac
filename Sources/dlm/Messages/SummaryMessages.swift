import Comparing
import DownloadModel
import TerminalProgress

/// The messages at the end of a run.
struct SummaryMessages {
  let report: RunReport
  var comparison: RunTimes.Comparison?
  /// The command that goes on with what is missing.
  var again = ""
  /// What to know of that command.
  var note = ""
  /// The names of the run's lists.
  var lists: [String] = []
  /// Whether the run was only to be compared, and nothing of it is kept.
  var isRepeat = false
  /// At a terminal, checksums are shortened.
  var shortens = false

  var lines: [String] {
    if report.tally.listed == 0, report.signal == nil {
      let empty = "dlm: \(lists.joined(separator: ", ")) \(lists.count == 1 ? "has" : "have") no addresses"
      return report.rejections.isEmpty ? [empty] : failureLines
    }
    var lines = [headline]
    if let lesson = report.lesson { lines.append("  " + LessonMessages.text(lesson, atOnce: report.jobs)) }
    if let breakdown { lines.append("  " + breakdown) }
    if !proof.isEmpty { lines.append("  " + proof.joined(separator: ", ")) }
    lines += [numbered, pages].compactMap(\.self) + failureLines
    if report.notBegun > 0 {
      lines.append("\(Quantity.count(report.notBegun)) more were not begun: the disk takes nothing any more")
    }
    if let comparison { lines.append(Self.text(comparison, report)) }
    if isRepeat { return lines }
    if report.signal != nil {
      lines += interruption
    } else if report.failures.contains(where: FailureMessages.isWorthRepeating) {
      lines += command("To try again", "files that are here are not fetched again")
    }
    return lines
  }

  /// What `-q` leaves: what did not go well, and how to go on.
  var quietLines: [String] { [pages].compactMap(\.self) + failureLines + (isRepeat ? [] : interruption) }

  private var interruption: [String] {
    report.signal.map { command("\($0 == 2 ? "Interrupted" : "Stopped"): \(standing); to resume") } ?? []
  }

  /// The command stands alone on its line, so that it can be copied.
  private func command(_ lead: String, _ notes: String...) -> [String] {
    let notes = (notes + [note]).filter { !$0.isEmpty }.joined(separator: "; ")
    return [lead + (notes.isEmpty ? ":" : " (\(notes)):"), "    " + again]
  }

  /// `1,000 files, 61.0 MiB in 3.2 s (19.1 MiB/s), parallel, 16 at a time`
  var headline: String {
    let tally = report.tally
    var line = "\(Quantity.files(tally.done)), \(amount), \(report.mode.rawValue)"
    if report.mode != .sequential {
      line += report.adaptsJobs ? ", up to \(report.jobs) at once" : ", \(report.jobs) at once"
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

  /// `61.0 MiB in 3.2 s (19.1 MiB/s)`, `64.0 MiB, 3.0 MiB of it fetched in 3.2 s (960 KiB/s)`: the rate is of the bytes
  /// before it.
  private var amount: String {
    let tally = report.tally
    let (all, fetched) = (Quantity.bytes(tally.finishedBytes), Quantity.bytes(tally.bodyBytes))
    // Where the run was broken off, or every file failed, most of what came is of files that are not done.
    if report.received > tally.finishedBytes, report.signal != nil || tally.finishedBytes == 0 {
      return "\(Quantity.bytes(report.received)) received in \(time(rateOf: report.received))"
    }
    // A watch mostly waits, so it has no rate.
    if tally.bodyBytes == 0 || report.listing == .watched { return "\(all) in \(Quantity.duration(report.elapsed))" }
    return (all == fetched ? all : "\(all), \(fetched) of it fetched") + " in \(time(rateOf: tally.bodyBytes))"
  }

  private func time(rateOf bytes: Int64) -> String {
    let rate = Double(bytes) / max(report.elapsed / .seconds(1), 0.001)
    return "\(Quantity.duration(report.elapsed)) (\(Quantity.rate(rate)))"
  }

  /// `0 of 40 done, 24 begun, 31.0 MiB kept`
  private var standing: String {
    let tally = report.tally
    let all = (report.listing == .brokenOff ? "at least " : "") + Quantity.count(tally.listed)
    let kept = tally.keptBytes > 0 ? ["\(Quantity.bytes(tally.keptBytes)) kept"] : []
    return
      (["\(Quantity.count(tally.done)) of \(all) done"]
      + Self.counted([(tally.undecided, "not answered"), (tally.cancelled, "begun")]) + kept)
      .joined(separator: ", ")
  }

  private static func counted(_ parts: [(count: Int, what: String)]) -> [String] {
    parts.filter { $0.count > 0 }.map { "\(Quantity.count($0.count)) \($0.what)" }
  }

  /// The results of the files, unless all were simply fetched.
  private var breakdown: String? {
    let tally = report.tally
    let others =
      Self.counted([
        (tally.sameAsHere, "of them the same as what was here"), (tally.withoutContent, "empty (204 No Content)"),
        (tally.decoded, "decompressed (the server had compressed them unasked)"),
        (tally.notCoded, "not compressed, though their Content-Encoding says so"), (tally.fresh, "fresh"),
        (tally.unchanged, "unchanged"), (tally.copied, "from cache"),
        (tally.replaced, "of them in place of what was here"),
        (tally.stale, "of them stale (not asked about, or their server failed)"),
        (tally.skipped, "skipped (a file was there)"),
      ]) + (tally.resumedBytes > 0 ? ["\(Quantity.bytes(tally.resumedBytes)) kept from before"] : [])
    guard !others.isEmpty else { return nil }
    let fetched = Self.counted([(tally.fetched, "fetched (\(Quantity.bytes(tally.bodyBytes)))")])
    return (fetched + others).joined(separator: ", ")
  }

  /// What was proved by more, or by less, than its length.
  private var proof: [String] {
    let (proven, weakly) = (report.tally.provenByDigest, report.tally.provenWeakly)
    let weak = "md5, sha1 or crc32c, which finds damage but no forgery"
    return Self.counted([
      (proven, "verified by checksum" + (proven == weakly ? ": \(weak)" : "")),
      (proven == weakly ? 0 : weakly, "of them only by \(weak)"),
      (report.tally.unproven, "not verified (the server gave no length; --require-proof refuses that)"),
    ])
  }

  private var numbered: String? {
    kept(report.tally.numberedNames, of: report.tally.numbered).map { "  Numbered, because the name was taken: \($0)" }
  }

  private var pages: String? {
    kept(report.tally.pageNames, of: report.tally.pages).map {
      "  HTML under other names, perhaps login or error pages: \($0); look at them, or refuse them with --expect"
    }
  }

  /// Nil for no names, and in a run whose files go.
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

  var failureLines: [String] {
    var lines = report.rejections.map { RejectionMessages($0).said }
    for group in FailureMessages.groups(of: report.failures) {
      lines += group.messages.lines(group.errors, shortens: shortens)
    }
    if report.moreFailures > 0 {
      lines.append("dlm: \(Quantity.count(report.moreFailures)) more failed; --failed FILE writes a list of all")
    }
    // A scratch folder goes with what is in it.
    if isRepeat { lines = lines.map { $0.replacing(/[:;] what (has come|came) is kept.*/, with: "") } }
    return lines
  }

  /// Of two earlier runs, after one that fetched nothing.
  static func earlier(_ fast: PastRun, _ slow: PastRun) -> String {
    let times = [fast, slow].map { "\($0.mode.rawValue) \(Quantity.duration(.seconds($0.seconds)))" }
    let ratio = slow.seconds / max(fast.seconds, 0.001)
    let verdict =
      ratio < Conclusion.Certainty.leastFactor
      ? "a tie." : "\(fast.mode.rawValue) was \(Quantity.decimal(ratio, 10)) times as fast."
    return "Nothing was fetched, so nothing was measured. Earlier: \(times.joined(separator: ", ")): \(verdict)"
  }

  private static func text(_ comparison: RunTimes.Comparison, _ report: RunReport) -> String {
    let run = comparison.run
    let took = "The same list in mode \(run.mode.rawValue) took \(Quantity.duration(.seconds(run.seconds)))"
    guard comparison.isFair else {
      let failed = run.failed > 0 ? " (\(Quantity.count(run.failed)) failed)" : ""
      return "\(took), but fetched \(Quantity.bytes(run.transferredBytes))\(failed), so the two cannot be compared; "
        + "dlm compare measures both."
    }
    let ratio = run.seconds / max(report.elapsed / .seconds(1), 0.001)
    if max(ratio, 1 / max(ratio, 0.001)) < Conclusion.Certainty.leastFactor { return "\(took): a tie." }
    return ratio >= 1
      ? "\(took): this run was \(Quantity.decimal(ratio, 10)) times as fast."
      : "\(took): that was \(Quantity.decimal(1 / ratio, 10)) times as fast as this run."
  }
}

/// What a run in mode auto says of its choice.
enum LessonMessages {
  /// `auto chose a task group of 32: 64 at a time brought no more (1.02 times)`
  /// - Parameter atOnce: the most files that were under way at a time.
  static func text(_ lesson: WidthLesson, atOnce: Int) -> String {
    var choice = atOnce > 1 ? "a task group of up to \(atOnce)" : "one after the other"
    if case .noGain(_, let limit, _) = lesson {
      choice = limit > 1 ? "a task group of \(limit)" : "one after the other"
    }
    return "auto chose \(choice): \(words(lesson, atOnce).reason)"
  }

  /// In JSON.
  static func word(_ lesson: WidthLesson) -> String { words(lesson, 0).word }

  private static func words(_ lesson: WidthLesson, _ atOnce: Int) -> (reason: String, word: String) {
    switch lesson {
    case .nothing where atOnce > 1: ("the list ended before more could show a gain", "too-short")
    case .nothing: ("there was no more to do at once", "too-short")
    case .littleWasLeft: ("more would not have paid for what was left", "little-was-left")
    case .allowed(let gain):
      ("the most allowed, which brought \(times(gain)) what half as many did", "as-many-as-allowed")
    case .noGain(let tried, _, let gain) where gain > 1.05:
      ("\(tried) at once brought \(times(gain)) as much, which may be chance", "no-gain")
    case .noGain(let tried, _, let gain): ("\(tried) at once brought no more (\(times(gain)))", "no-gain")
    case .gained(let gain): ("the last doubling brought \(times(gain)) as much", "gained")
    case .slowAnswers: ("answers were slow, so the most allowed were asked for at once", "slow-answers")
    case .broke: ("transfers broke off, so it used fewer", "transfers-broke")
    }
  }

  private static func times(_ factor: Double) -> String { "\(Quantity.decimal(factor, 100)) times" }
}

enum DryRunMessages {
  static func row(_ file: DryRun.File) -> [String] {
    [file.address, file.path, file.size.map { "\($0)" } ?? "-", file.step.rawValue]
  }

  static func json(_ file: DryRun.File) -> JSONValue {
    JSONValue([
      "v": 1, "type": "file", "url": file.address, "path": file.path, "size": file.size, "here": file.here,
      "step": file.step.rawValue,
    ])
  }

  static func json(_ plan: DryRun) -> JSONValue {
    let counts = DryRun.Step.allCases.map { ($0.rawValue, plan.counts[$0] ?? 0) }
    return JSONValue([
      "v": 1, "type": "dry-run", "files": JSONValue(Dictionary(uniqueKeysWithValues: counts)), "bytes": plan.bytes,
      "unsized": plan.unsized, "free": plan.free,
    ])
  }

  static func lines(_ plan: DryRun, in folder: String) -> [String] {
    let steps = DryRun.Step.allCases.compactMap { step in
      plan.counts[step].map { ", \(Quantity.count($0)) \(step == .here ? "here" : "to \(step.rawValue)")" }
    }
    let unsized = plan.unsized > 0 ? " and \(Quantity.files(plan.unsized)) of unknown size" : ""
    let free = plan.free.map { "; \(Quantity.bytes($0)) free in \(folder)" } ?? ""
    let line = "\(Quantity.files(plan.counts.values.reduce(0, +)))\(steps.joined()): "
    let missing = plan.bytes - (plan.free ?? .max)
    let trouble = "dlm: \(Quantity.bytes(missing)) too little: free space, or choose another --directory"
    return [line + "\(Quantity.bytes(plan.bytes))\(unsized) to come\(free)"] + (missing > 0 ? [trouble] : [])
  }
}
