import DownloadModel
import TerminalProgress

/// Words of a `dlm get` that takes the last list of its folder again.
enum RepeatWords {
  /// `Taking the last list of this folder: urls.txt, with --directory=data`
  static func again(_ last: LastList) -> String {
    let options = last.history.options.map { CommandLineWords.quoted(TerminalText.sanitized($0)) }
    return "Taking the last list of this folder: \(TerminalText.sanitized(last.names))"
      + (options.isEmpty ? "" : ", with \(options.joined(separator: " "))")
  }

  /// `urls.txt again, one by one, to compare with parallel (12.3 s): about 3 min`
  static func announcement(_ plan: RepeatPlan) -> [String] {
    let way = plan.mode == .sequential ? "one by one" : "in mode \(plan.mode.rawValue)"
    let then =
      plan.otherRun.map { " (\(Quantity.duration(.seconds($0.seconds))))" }
      ?? ", of which no time is known yet"
    return [
      "\(TerminalText.sanitized(plan.list)) again, \(way), to compare with \(plan.other.rawValue)\(then)"
        + (estimate(plan).map { ": \($0)" } ?? ""),
      "  Everything is fetched into a scratch folder, compared with what is here, and dropped; --no-compare only "
        + "fetches what is missing or has changed.",
    ]
  }

  /// What is known, and else what it comes to if each file takes the time that it took.
  static func estimate(_ plan: RepeatPlan) -> String? {
    if let own = plan.ownRun { return "about \(rounded(own.seconds))" }
    guard let other = plan.otherRun else { return nil }
    if plan.mode == .sequential {
      return "about \(rounded(other.seconds * Double(max(1, min(other.jobs, other.fetched)))))"
    }
    return plan.other == .sequential
      ? "\(rounded(other.seconds)) at the most" : "about \(rounded(other.seconds))"
  }

  /// An estimate needs no tenths: `40 s`, `3 min`.
  private static func rounded(_ seconds: Double) -> String {
    if seconds < 1 { return "a second" }
    if seconds < 90 { return "\(Int(seconds.rounded())) s" }
    if seconds < 90 * 60 { return "\(Int((seconds / 60).rounded())) min" }
    return "\(Int((seconds / 3600).rounded())) h"
  }

  static func noRoom(_ plan: RepeatPlan, free: Int64) -> String {
    "dlm: to compare, \(Quantity.bytes(plan.bytes)) are to be fetched beside what is here, and \(Quantity.bytes(free)) "
      + "are free: make room, or go on without comparing (dlm get --no-compare)"
  }

  static func verdict(_ verdict: RepeatVerdict) -> [String] {
    let files = { (count: Int) in "\(Quantity.count(count)) \(count == 1 ? "file" : "files")" }
    if verdict.isSame {
      return [
        "The same bytes as here, in \(files(verdict.compared)); what was fetched to compare is dropped."
      ]
    }
    var lines = ["\(files(verdict.differences.count)) of \(Quantity.count(verdict.compared)) not as here:"]
    for difference in verdict.differences.prefix(FailureLedger.told) {
      let what = difference.isMissing ? "is not here" : "has other bytes here"
      lines.append(
        "    \(TerminalText.sanitized(difference.address)): \(TerminalText.sanitized(difference.path)) \(what)"
      )
    }
    lines.append(
      "So the two runs cannot be compared. Your files are as they were; dlm get --no-compare brings them up to date."
    )
    return lines
  }

  static func nothingToCompare(_ other: DownloadMode) -> String {
    "No time of mode \(other.rawValue) is known yet for this list: dlm get --mode \(other.rawValue) compares the two."
  }

  static func withheld(_ missing: [Withheld]) -> String {
    let names = missing.map { withheld in
      switch withheld {
      case .header(let name): "-H '\(TerminalText.sanitized(name)): …'"
      case .proxy: "--proxy with its login"
      case .addressLogins: "the logins of the addresses (name them again, or use --netrc-file)"
      }
    }
    return "The last run had what dlm does not write down: give it again: \(names.joined(separator: ", "))."
  }
}
