import DownloadModel
import StrategyComparing
import TerminalProgress

/// The words at the end of a run: how many, how much, how long, how fast, what failed and what to do about it.
struct SummaryWords {
  private let report: RunReport
  private let comparison: RunHistory.Comparison?
  private let again: String
  private let isRepeat: Bool

  /// - Parameters:
  ///   - comparison: the same list in another mode.
  ///   - again: the command that goes on with what is missing.
  ///   - isRepeat: the run was only to be compared with an earlier one; nothing of it is kept.
  init(
    _ report: RunReport, comparedWith comparison: RunHistory.Comparison?, again: String,
    isRepeat: Bool = false
  ) {
    self.isRepeat = isRepeat
    self.report = report
    self.comparison = comparison
    self.again = again
  }

  var lines: [String] {
    if report.tally.listed == 0, report.rejections.isEmpty, report.signal == nil {
      return ["The list holds no address."]
    }
    var lines = [headline]
    if let breakdown { lines.append("  " + breakdown) }
    if let proof = ProofWords.line(report.tally) { lines.append("  " + proof) }
    lines += failureLines
    if report.notBegun > 0 {
      lines.append("\(Quantity.count(report.notBegun)) more were not begun: the disk takes nothing any more")
    }
    if let comparison { lines.append(Self.words(comparison, report)) }
    if isRepeat {
      if report.signal != nil || !report.failures.isEmpty { lines.append(Self.nothingCompared) }
    } else if let signal = report.signal {
      lines.append(
        "\(signal == 2 ? "Interrupted" : "Stopped"): what has come is kept. To go on: \(again)")
    } else if !report.failures.isEmpty {
      lines.append("To try these again: \(again)   (what is here is not fetched again)")
    }
    return lines
  }

  /// `1,000 files, 61.0 MiB in 3.2 s (19.1 MiB/s), parallel, 16 at a time`
  private var headline: String {
    let tally = report.tally
    let files = "\(Quantity.count(tally.done)) \(tally.done == 1 ? "file" : "files")"
    let rate = Double(report.received) / max(report.elapsed / .seconds(1), 0.001)
    var line = "\(files), \(Quantity.bytes(tally.finishedBytes)) in \(Quantity.duration(report.elapsed))"
    if report.received > 0 { line += " (\(Quantity.rate(rate)))" }
    line +=
      report.mode == .sequential ? ", sequential" : ", \(report.mode.rawValue), \(report.jobs) at a time"
    let unfinished = tally.failed
    if unfinished > 0 { line += "; \(Quantity.count(unfinished)) failed" }
    return line
  }

  /// What the files came to, where that is more than "all were fetched".
  private var breakdown: String? {
    let tally = report.tally
    let notJustFetched =
      tally.unchanged + tally.copied + tally.skipped + tally.sameAsHere + tally.withoutContent + tally.decoded
    guard notJustFetched > 0 || tally.resumedBytes > 0 else { return nil }
    var parts: [String] = []
    if tally.fetched > 0 {
      parts.append("\(Quantity.count(tally.fetched)) fetched (\(Quantity.bytes(tally.transferredBytes)))")
    }
    if tally.sameAsHere > 0 {
      parts.append("\(Quantity.count(tally.sameAsHere)) of them the same as what was here")
    }
    if tally.withoutContent > 0 {
      parts.append("\(Quantity.count(tally.withoutContent)) empty (204 No Content)")
    }
    if tally.decoded > 0 {
      parts.append("\(Quantity.count(tally.decoded)) decompressed (the server sent them so unasked)")
    }
    if tally.unchanged > 0 { parts.append("\(Quantity.count(tally.unchanged)) unchanged") }
    if tally.copied > 0 { parts.append("\(Quantity.count(tally.copied)) copied from this disk") }
    if tally.skipped > 0 { parts.append("\(Quantity.count(tally.skipped)) left as they stood") }
    if tally.resumedBytes > 0 { parts.append("\(Quantity.bytes(tally.resumedBytes)) kept from before") }
    return parts.joined(separator: ", ")
  }

  /// Grouped by cause, each with its address.
  var failureLines: [String] {
    var lines = report.rejections.map { "\(TerminalText.sanitized(RejectionWords($0).line))" }
    for group in FailureGroup.groups(of: report.failures) {
      lines.append("\(Quantity.count(group.errors.count)) × \(TerminalText.sanitized(group.heading))")
      lines += group.errors.map { "    \(TerminalText.sanitized($0.address ?? $0.path ?? ""))" }
    }
    if report.moreFailures > 0 {
      lines.append("and \(Quantity.count(report.moreFailures)) more; --failed FILE writes a list of all")
    }
    return lines
  }

  private static let nothingCompared =
    "Nothing was compared: what was fetched for that is dropped, and your files are as they were."

  /// Of two earlier runs, after one that fetched nothing.
  static func earlier(_ fast: RunHistory.Comparison, _ slow: RunHistory.Comparison) -> String {
    let times = [fast, slow].map { "\($0.mode.rawValue) \(Quantity.duration(.seconds($0.run.seconds)))" }
    return "Nothing was fetched, so nothing was measured. Earlier: \(times.joined(separator: ", ")): "
      + verdict(slow.run.seconds / max(fast.run.seconds, 0.001), fast.mode.rawValue)
  }

  /// - Parameter ratio: at least 1.
  private static func verdict(_ ratio: Double, _ winner: String) -> String {
    ratio < Conclusion.Certainty.leastFactor ? "a tie." : "\(winner) was \(tenths(ratio)) times as fast."
  }

  private static func tenths(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }

  private static func words(_ comparison: RunHistory.Comparison, _ report: RunReport) -> String {
    let other = comparison.mode.rawValue
    let then = Quantity.duration(.seconds(comparison.run.seconds))
    guard comparison.isFair else {
      let bytes = Quantity.bytes(comparison.run.transferredBytes)
      return """
        The same list in mode \(other) took \(then), but fetched \(bytes), so the two cannot be compared; \
        dlm compare measures them alike.
        """
    }
    let ratio = comparison.run.seconds / max(report.elapsed / .seconds(1), 0.001)
    let took = "The same list in mode \(other) took \(then):"
    if max(ratio, 1 / max(ratio, 0.001)) < Conclusion.Certainty.leastFactor { return "\(took) a tie." }
    return ratio >= 1
      ? "\(took) this run was \(tenths(ratio)) times as fast."
      : "\(took) that was \(tenths(1 / ratio)) times as fast as this run."
  }
}
