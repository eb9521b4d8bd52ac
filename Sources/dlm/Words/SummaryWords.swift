import DownloadModel
import TerminalProgress

/// The words at the end of a run: how many, how much, how long, how fast, what failed and what to do about it.
struct SummaryWords {
  private let report: RunReport
  private let comparison: RunHistory.Comparison?
  private let again: String

  /// - Parameters:
  ///   - comparison: the same list in another mode.
  ///   - again: the command that goes on with what is missing.
  init(_ report: RunReport, comparedWith comparison: RunHistory.Comparison?, again: String) {
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
    if let signal = report.signal {
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
    guard tally.unchanged + tally.copied + tally.skipped > 0 || tally.resumedBytes > 0 else { return nil }
    var parts: [String] = []
    if tally.fetched > 0 {
      parts.append("\(Quantity.count(tally.fetched)) fetched (\(Quantity.bytes(tally.transferredBytes)))")
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
    let tenths = { (value: Double) in "\((value * 10).rounded() / 10)" }
    return ratio >= 1
      ? "The same list in mode \(other) took \(then): this run was \(tenths(ratio)) times as fast."
      : "The same list in mode \(other) took \(then): that was \(tenths(1 / ratio)) times as fast as this run."
  }
}
