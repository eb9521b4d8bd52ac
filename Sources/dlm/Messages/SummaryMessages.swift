import Comparing
import DownloadModel
import TerminalProgress

/// The messages at the end of a run: how many, how much, how long, how fast, what failed and what to do about it.
struct SummaryMessages {
  private let report: RunReport
  private let comparison: RunTimes.Comparison?
  /// Made where something is to be tried again.
  private let again: () -> String
  private let isRepeat: Bool

  /// - Parameters:
  ///   - comparison: the same list in another mode.
  ///   - again: the command that goes on with what is missing.
  ///   - isRepeat: the run was only to be compared with an earlier one; nothing of it is kept.
  init(
    _ report: RunReport, comparedWith comparison: RunTimes.Comparison?, again: @autoclosure @escaping () -> String,
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
    if let lesson = report.lesson { lines.append("  " + LessonMessages.text(lesson, atOnce: report.jobs)) }
    if let breakdown { lines.append("  " + breakdown) }
    if let proof = Self.proof(report.tally) { lines.append("  " + proof) }
    lines += failureLines
    if report.notBegun > 0 {
      lines.append("\(Quantity.count(report.notBegun)) more were not begun: the disk takes nothing any more")
    }
    if let comparison { lines.append(Self.text(comparison, report)) }
    if isRepeat { return lines }
    if let interruption {
      lines.append(interruption)
    } else if !report.failures.isEmpty {
      lines.append("To try these again: \(again())   (what is here is not fetched again)")
    }
    return lines
  }

  /// What `-q` leaves: what did not go well, and how to go on.
  var quietLines: [String] { failureLines + (isRepeat ? [] : [interruption].compactMap(\.self)) }

  /// Where a signal ended the run: how far it came, and how to go on.
  private var interruption: String? {
    report.signal.map { "\($0 == 2 ? "Interrupted" : "Stopped"): \(standing); to go on: \(again())" }
  }

  /// `1,000 files, 61.0 MiB in 3.2 s (19.1 MiB/s), parallel, 16 at a time`
  var headline: String {
    let tally = report.tally
    let rate = Double(report.received) / max(report.elapsed / .seconds(1), 0.001)
    // Of a run that was broken off, most of what came is of files that are not done.
    let isBroken = report.signal != nil && report.received > tally.finishedBytes
    let bytes =
      isBroken ? "\(Quantity.bytes(report.received)) received" : Quantity.bytes(tally.finishedBytes)
    var line = "\(Quantity.files(tally.done)), \(bytes) in \(Quantity.duration(report.elapsed))"
    // Most of a watch's time nothing was to be fetched.
    if report.received > 0, !report.isWatch { line += " (\(Quantity.rate(rate)))" }
    line += ", \(report.mode.rawValue)"
    if report.mode != .sequential {
      line += report.adaptsJobs ? ", up to \(report.jobs) at once" : ", \(report.jobs) at a time"
    }
    let unfinished = tally.failed
    if unfinished > 0 { line += "; \(Quantity.count(unfinished)) failed" }
    if tally.givenUp > 0 {
      line += (unfinished > 0 ? ", " : "; ") + "\(Quantity.count(tally.givenUp)) skipped by you"
    }
    return line
  }

  /// `0 of 40 done, 24 begun, 31.0 MiB kept`
  private var standing: String {
    let tally = report.tally
    let all = (report.isListWhole ? "" : "at least ") + Quantity.count(tally.listed)
    var parts = ["\(Quantity.count(tally.done)) of \(all) done"]
    if tally.cancelled > 0 { parts.append("\(Quantity.count(tally.cancelled)) begun") }
    if tally.keptBytes > 0 { parts.append("\(Quantity.bytes(tally.keptBytes)) kept") }
    return parts.joined(separator: ", ")
  }

  /// The results of the files, unless all were simply fetched.
  private var breakdown: String? {
    let tally = report.tally
    let notJustFetched =
      tally.unchanged + tally.fresh + tally.copied + tally.skipped + tally.sameAsHere + tally.withoutContent
      + tally.decoded
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
    if tally.fresh > 0 { parts.append("\(Quantity.count(tally.fresh)) fresh") }
    if tally.unchanged > 0 { parts.append("\(Quantity.count(tally.unchanged)) unchanged") }
    if tally.copied > 0 { parts.append("\(Quantity.count(tally.copied)) from cache") }
    if tally.stale > 0 {
      parts.append("\(Quantity.count(tally.stale)) of them stale (not asked about, or their server failed)")
    }
    if tally.skipped > 0 { parts.append("\(Quantity.count(tally.skipped)) left as they stood") }
    if tally.resumedBytes > 0 { parts.append("\(Quantity.bytes(tally.resumedBytes)) kept from before") }
    return parts.joined(separator: ", ")
  }

  /// How the files were proved, where that is more or less than their length; nil where there is nothing to report.
  private static func proof(_ tally: ProgressTally) -> String? {
    var parts: [String] = []
    if tally.provenByDigest > 0 { parts.append("\(Quantity.count(tally.provenByDigest)) proved by checksum") }
    if tally.unproven > 0 {
      parts.append(
        "\(Quantity.count(tally.unproven)) not proved whole (the server gave no length; --require-proof "
          + "refuses that)")
    }
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }

  /// Names of a checksum list that no file had; such a list usually names more files than one run fetches.
  static func unusedChecksums(_ names: [String]) -> [String] {
    guard !names.isEmpty else { return [] }
    let shown = names.prefix(3).map { TerminalText.sanitized($0) }.joined(separator: ", ")
    let more = names.count > 3 ? " and \(Quantity.count(names.count - 3)) more" : ""
    return ["Named in the checksum list, but not in this run: \(shown)\(more)"]
  }

  /// Grouped by cause, each with its address.
  var failureLines: [String] {
    var lines = report.rejections.map { "\(TerminalText.sanitized(RejectionMessages($0).line))" }
    for group in FailureGroup.groups(of: report.failures) {
      lines.append("\(Quantity.count(group.errors.count)) × \(TerminalText.sanitized(group.heading))")
      lines += group.errors.map { "    \(TerminalText.sanitized($0.address ?? $0.path ?? ""))" }
    }
    if report.moreFailures > 0 {
      lines.append("and \(Quantity.count(report.moreFailures)) more; --failed FILE writes a list of all")
    }
    return lines
  }

  /// Of two earlier runs, after one that fetched nothing.
  static func earlier(_ fast: PastRun, _ slow: PastRun) -> String {
    let times = [fast, slow].map { "\($0.mode.rawValue) \(Quantity.duration(.seconds($0.seconds)))" }
    return "Nothing was fetched, so nothing was measured. Earlier: \(times.joined(separator: ", ")): "
      + verdict(slow.seconds / max(fast.seconds, 0.001), fast.mode.rawValue)
  }

  /// - Parameter ratio: at least 1.
  private static func verdict(_ ratio: Double, _ winner: String) -> String {
    ratio < Conclusion.Certainty.leastFactor
      ? "a tie." : "\(winner) was \(Quantity.decimal(ratio, 10)) times as fast."
  }

  private static func text(_ comparison: RunTimes.Comparison, _ report: RunReport) -> String {
    let other = comparison.run.mode.rawValue
    let then = Quantity.duration(.seconds(comparison.run.seconds))
    guard comparison.isFair else {
      let failed = comparison.run.failed > 0 ? " (\(Quantity.count(comparison.run.failed)) failed)" : ""
      let bytes = Quantity.bytes(comparison.run.transferredBytes)
      return """
        The same list in mode \(other) took \(then), but fetched \(bytes)\(failed), so the two cannot be \
        compared; dlm compare measures them alike.
        """
    }
    let ratio = comparison.run.seconds / max(report.elapsed / .seconds(1), 0.001)
    let took = "The same list in mode \(other) took \(then):"
    if max(ratio, 1 / max(ratio, 0.001)) < Conclusion.Certainty.leastFactor { return "\(took) a tie." }
    return ratio >= 1
      ? "\(took) this run was \(Quantity.decimal(ratio, 10)) times as fast."
      : "\(took) that was \(Quantity.decimal(1 / ratio, 10)) times as fast as this run."
  }
}

/// The command that continues with what is missing, rebuilt from the parsed options and never from the typed text: a
/// secret has many spellings on a command line (`-vHAuthorization:…`), but only one in the parsed options.
///
/// Secrets are not shown: logins, signatures, the values of header lines. An ellipsis replaces them, and a sentence
/// says to give them again. An option that was set in the environment or a settings file applies again by itself.
struct AgainMessages {
  /// Quoted for a shell, with what must be given again.
  let line: String

  /// - Parameters:
  ///   - isListKept: whether `dlm get` by itself would take this run's list again.
  ///   - asksServers: leaves out `--offline`, where only that was in the way.
  init(_ command: GetCommand, isListKept: Bool = true, asksServers: Bool = false) {
    var spelling = Spelling()
    var isPiped = false
    // A list that came through a pipe is gone; `dlm get` knows it by now, if it was read to its end. Else only who
    // wrote into the pipe has all of it.
    if command.sources.contains("-"), !isListKept { isPiped = true }
    if command.sources != ["-"] || !isListKept { command.sources.forEach { spelling.add(source: $0) } }
    for row in OptionTable.rows where !asksServers || row.spelled != "--offline" {
      spelling.add(row, of: command)
    }
    let words = (["dlm", "get"] + spelling.words.map(CommandLineText.quoted)).joined(separator: " ")
    let line =
      isPiped ? "… | \(words)   (the pipe was not read to its end: give it the whole list again)" : words
    self.line =
      spelling.hidesSecrets ? line + "   (secrets are not shown: give again what … stands for)" : line
  }

  private struct Spelling {
    var words: [String] = []
    var hidesSecrets = false

    mutating func add(_ row: OptionTable.Row, of command: GetCommand) {
      for text in row.texts(command) {
        switch row.kind {
        case .flag: words.append(row.spelled)
        case .value, .values: words += [row.spelled, text]
        case .address: words += [row.spelled, shown(text)]
        case .headers: words += ["-H", shown(header: text)]
        }
      }
    }

    /// - Parameter source: an address, or a list's path.
    mutating func add(source: String) {
      guard case .address(let text) = Source(source) else { return words.append(source) }
      words.append(shown(text))
    }

    /// An address without its secrets; a login is replaced by an ellipsis.
    private mutating func shown(_ text: String) -> String {
      let redacted = Redaction.redactedAddress(text)
      if redacted.contains(Redaction.mark) { hidesSecrets = true }
      guard (try? Address(text))?.hasCredentials ?? text.contains("@") else { return redacted }
      hidesSecrets = true
      guard let scheme = redacted.firstRange(of: "://") else { return "\(Redaction.mark)@\(redacted)" }
      return redacted[..<scheme.upperBound] + "\(Redaction.mark)@" + redacted[scheme.upperBound...]
    }

    /// Header lines whose values select an answer but do not unlock one.
    private static let harmless: Set<String> = [
      "accept", "accept-language", "accept-encoding", "cache-control", "pragma", "user-agent", "dnt",
    ]

    private mutating func shown(header text: String) -> String {
      let header = HeaderArgument(argument: text)
      if header.isFile || Self.harmless.contains(header.name.lowercased()) { return text }
      hidesSecrets = true
      return "\(header.name): \(Redaction.mark)"
    }
  }
}

/// Arguments, quoted for a shell.
enum CommandLineText {
  /// A path as it is typed in a folder.
  static func quoted(_ path: String, from folder: String) -> String {
    let here = folder.hasSuffix("/") ? folder : folder + "/"
    return quoted(path.hasPrefix(here) ? String(path.dropFirst(here.count)) : path)
  }

  static func quoted(_ argument: String) -> String {
    let isPlain = argument.utf8.allSatisfy { $0.isLetterOrDigit || "-_./:=,+%@".utf8.contains($0) }
    if isPlain, !argument.isEmpty { return argument }
    return "'" + argument.replacing("'", with: "'\\''") + "'"
  }
}
