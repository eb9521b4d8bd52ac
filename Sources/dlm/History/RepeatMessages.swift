import DownloadModel
import TerminalProgress

/// The messages of a `dlm get` that uses the last list of its folder again.
enum RepeatMessages {
  /// `Taking the last list of this folder: urls.txt, with --directory=data`
  static func again(_ last: LastList, _ why: RepeatPlan.NotRepeated, _ mode: DownloadMode) -> [String] {
    let options = last.history.command.options.map { CommandLineText.quoted(TerminalText.sanitized($0)) }
    let with = options.isEmpty ? "" : ", with \(options.joined(separator: " "))"
    let line = "Taking the last list of this folder: \(last.names)\(with)"
    guard case .because(let reason, let other) = why else { return [line] }
    let remedy = "dlm compare --mode \(other.rawValue) \(mode.rawValue) measures both."
    return [line, "  Not comparable with mode \(other.rawValue): \(reason.rawValue). \(remedy)"]
  }

  /// `urls.txt again, sequentially, to compare with parallel (12.3 s): 61.0 MiB, at most 3 min`
  static func announcement(_ plan: RepeatPlan) -> [String] {
    let way = plan.mode == .sequential ? "sequentially" : "in mode \(plan.mode.rawValue)"
    let then =
      plan.otherRun.map { " (\(Quantity.duration(.seconds($0.seconds))))" }
      ?? ", whose time is not known yet"
    return [
      "\(plan.list) again, \(way), to compare with \(plan.other.rawValue)\(then)"
        + (estimate(plan).map { ": \(Quantity.bytes(plan.bytes)), \($0)" } ?? ""),
      "  Downloads into a scratch folder, compares the files with yours, and deletes them. --no-compare downloads "
        + "only what is missing or has changed.",
    ]
  }

  /// The time of an earlier run in this mode, else an estimate from the other mode's.
  static func estimate(_ plan: RepeatPlan) -> String? {
    if let own = plan.ownRun { return "about \(rounded(own.seconds))" }
    guard let other = plan.otherRun else { return nil }
    if plan.mode == .sequential { return "at most \(rounded(other.sequentialSeconds))" }
    return "\(plan.other == .sequential ? "at most" : "about") \(rounded(other.seconds))"
  }

  /// An estimate needs no tenths: `40 s`, `3 min`.
  static func rounded(_ seconds: Double) -> String {
    switch seconds {
    case ..<1.5: "a second"
    case ..<90: "\(Int(seconds.rounded())) s"
    case ..<(90 * 60): "\(Int((seconds / 60).rounded())) min"
    default: "\(Int((seconds / 3600).rounded())) h"
    }
  }

  static func noRoom(_ plan: RepeatPlan, free: Int64) -> String {
    "dlm: comparing needs \(Quantity.bytes(plan.bytes)) of free space, and there are \(Quantity.bytes(free)); free "
      + "some, or download without comparing (dlm get --no-compare)"
  }

  /// - Parameter failed: files of this run, which are named with the other failures.
  static func verdict(_ verdict: RepeatVerdict, failed: Int) -> [String] {
    func named(_ files: [RepeatVerdict.Difference], _ what: String) -> [String] {
      files.prefix(FailureLog.told).map {
        "  \($0.address): \($0.path) \(what)"
      }
    }
    let missing = verdict.missing
    let differences = verdict.differences
    let count = Quantity.files(missing.count)
    let head = missing.isEmpty ? [] : ["\(count) skipped; dlm get --no-compare downloads them:"]
    let lines = head + named(missing, "does not exist")
    if verdict.compared == 0 { return lines + [nothing] }
    let leftOut = failed > 0 ? "; \(Quantity.count(failed)) failed and \(failed == 1 ? "was" : "were") skipped" : ""
    let all = Quantity.files(verdict.compared)
    let identical = verdict.compared == 1 ? "\(all) identical" : "all \(all) identical"
    if differences.isEmpty { return lines + ["\(identical)\(leftOut); temporary copies deleted"] }
    let changed =
      ["\(Quantity.count(differences.count)) of \(all) changed\(leftOut):"] + named(differences, "is different")
    let end = "So the two runs cannot be compared. Your files are unchanged; dlm get --no-compare updates them."
    return lines + changed + [end]
  }

  /// For a run that was cut short, or downloaded nothing.
  static let nothing = "Nothing was compared: temporary copies are deleted, and your files are unchanged."

  static func nothingToCompare(_ other: DownloadMode) -> String {
    "No time of mode \(other.rawValue) is known yet for this list: dlm get --mode \(other.rawValue) compares the two."
  }
}
