import Comparing
import DownloadModel
import TerminalProgress

/// The table and the sentences of `dlm compare`.
struct ComparisonMessages {
  private let report: ComparisonReport
  /// ", 16 files at a time" or ", up to 64 files at once"; empty if each mode's name contains it.
  private let width: String
  private let isInMemory: Bool

  init(_ report: ComparisonReport, jobs: Int, adapts: Bool, inMemory: Bool = false) {
    self.report = report
    isInMemory = inMemory
    let isTold = report.results.contains { $0.mode.jobs != nil }
    width = isTold ? "" : adapts ? ", up to \(jobs) files at once" : ", \(Quantity.files(jobs)) at once"
  }

  /// The lines above the files of a run: `run 2 of 9: async-let, round 1`, and the table so far.
  static func heading(_ step: ComparisonPlan.Step, of plan: ComparisonPlan, _ table: [String]) -> RunHeading {
    let place = place(of: step, in: plan)
    let count = plan.steps.count
    let round = step.isWarmUp ? "warming up" : "round \(step.round)"
    return RunHeading(
      ["run \(place) of \(count): \(step.mode.name), \(round)"] + table,
      fields: [
        "run": place, "runs": count, "round": step.round, "mode": step.mode.mode.rawValue, "jobs": step.mode.jobs,
        "warmUp": step.isWarmUp,
      ])
  }

  private static func place(of step: ComparisonPlan.Step, in plan: ComparisonPlan) -> Int {
    plan.steps.firstIndex(of: step).map { $0 + 1 } ?? 0
  }

  /// `run 2 of 9 async-let 412 ms`
  static func runLine(_ step: ComparisonPlan.Step, _ wall: Duration, of plan: ComparisonPlan) -> String {
    let number = "run \(place(of: step, in: plan)) of \(plan.steps.count)"
    let nameWidth = max(12, (plan.modes.map(\.name.count).max() ?? 0) + 2)
    return TextColumns.line([number, step.mode.name, Quantity.measurement(wall)], [13, nameWidth, 0])
  }

  static func leftOut(_ failures: [DownloadError]) -> [String] {
    let it = failures.count == 1 ? "it" : "them"
    let count = Quantity.count(failures.count, "file failed and is", "files failed and are")
    return ["\(count) skipped; starting over without \(it) (--strict stops instead):"] + told(failures)
  }

  private static func told(_ failures: [DownloadError]) -> [String] {
    failures.prefix(FailureLog.told).map { "  \($0.address ?? ""): \(FailureMessages($0).line)" }
      + (failures.count > FailureLog.told ? ["  …"] : [])
  }

  /// The last line of `--progress json`.
  static func json(_ pages: ReportPages) -> JSONValue {
    JSONValue([
      "v": 1, "t": ProgressMessages.forDisplay.timestamp(), "type": "comparison", "id": JSONValue.null,
      "url": JSONValue.null,
      "report": pages.value,
    ])
  }

  var table: [String] {
    TextColumns.lines(
      [["MODE", "MEDIAN", "SPREAD", "RATE", "SPEED"]] + report.results.map(row), [nameWidth, 12, 10, 15, 0])
  }

  /// The conclusion is last, on one screen with the table; above them, other parts if there is room.
  /// - Parameter rows: of the window; `nil` without a window, and for all rows.
  func lines(
    _ picture: ComparisonPicture? = nil, rows: Int? = nil, wrapped: ([String]) -> [String] = { $0 }
  ) -> [String] {
    let spread = "(spread: half the range between fastest and slowest run; ± standard deviation)"
    let table = wrapped(table + [spread])
    let reasons = wrapped(explanations + work + warnings)
    let verdict = headline.isEmpty ? [] : [""] + wrapped([headline])
    // The prompt takes a row.
    func fits(_ lines: [String]) -> Bool { rows.map { lines.count < $0 } ?? true }
    var lines = table + [""] + reasons + verdict
    if !fits(lines) { lines = reasons + [""] + table + verdict }
    for block in [picture?.bars ?? [], wrapped(effort), picture?.waterfall ?? []] {
      let more = block + [""] + lines
      if !block.isEmpty, fits(more) { lines = more }
    }
    return lines
  }

  private var work: [String] {
    guard let some = report.results.first, let run = some.runs.first else { return [] }
    let leftOut = Quantity.count(report.leftOut.count, "file failed and was", "files failed and were")
    let runs = Quantity.count(some.runs.count, "run", "runs")
    return (report.leftOut.isEmpty ? [] : ["\(leftOut) skipped."]) + [
      "Every run downloaded the same \(Quantity.count(run.files)) files, \(Quantity.bytes(run.bytes)), byte for byte"
        + "\(isInMemory ? ", into memory" : ""); \(runs) a mode\(width)."
    ]
  }

  /// The conclusion in one sentence; empty with fewer than two modes.
  var headline: String { report.conclusion.map(sentence) ?? "" }

  var explanations: [String] { Explanation.all(report).map(Self.text) }

  private static func text(_ explanation: Explanation) -> String {
    switch explanation {
    case .sideBySide(let waiting, let rate):
      "Sequentially, \(Int((waiting * 100).rounded())) % of the time is spent waiting for the server, and the rest "
        + "receiving at \(Quantity.rate(rate)). In parallel those waits overlap, and each connection adds bandwidth."
    case .sharedLine(let rate):
      "More files at once share one line: it, or the server, gives \(Quantity.rate(rate)) in all."
    case .busyServer(let answers): "The server limits: however many ask, it answers about \(answers) at once."
    case .slowConnecting(let time):
      "The server limits: side by side, a file waits \(Quantity.measurement(time)) longer for its connection. "
        + "Fewer at once may be faster: compare --jobs 1,4,16."
    case .hostLimit(let host, let connections):
      "The server limits: \(TerminalText.sanitized(host)) takes "
        + "\(Quantity.count(connections, "connection", "connections")) at once."
    }
  }

  /// The resources of each mode's median run.
  private var effort: [String] {
    let runs = report.results.map { ($0.mode.name, $0.medianRun.details) }.filter { !$0.1.transfers.isEmpty }
    guard !runs.isEmpty else { return [] }
    func time(_ time: Duration?) -> String { time.flatMap { $0 > .zero ? Quantity.measurement($0) : nil } ?? "–" }
    let measured = runs.map { name, details in
      [
        name, time(details.timeToFirstByte), time(details.processorTime),
        details.peakMemory.map(Quantity.bytes) ?? "–",
      ] + [details.connections, details.requests, details.retries, details.mostAtOnce].map { Quantity.count($0) }
    }
    let phases = runs.map { name, details in
      let timelines = FileTimeline.all(details)
      let shares = TimeShares(timelines)
      return [name] + FilePhase.allCases.map { time(shares[$0] / max(1, timelines.count)) }
    }
    let effort = [["", "1ST BYTE", "CPU", "MEMORY", "CONNECTS", "REQUESTS", "RETRIES", "AT ONCE"]] + measured
    let shares = [["A FILE: ", "QUEUED", "LOOKUP", "CONNECT", "TLS", "WAIT", "RECEIVE", "FINISH"]] + phases
    return TextColumns.lines(effort, [nameWidth, -10, -9, -9, -9, -9, -8, -8])
      + [""] + TextColumns.lines(shares, [nameWidth, -10, -9, -9, -9, -9, -9, -9])
  }

  private func row(_ result: ModeResult) -> [String] {
    [
      result.mode.name, Quantity.measurement(result.times.median),
      result.times.spreadText ?? "–",
      result.bytesPerSecond.map(Quantity.rate) ?? "",
      result.mode == .sequential ? "1" : report.speed(of: result.mode, against: .sequential)?.text ?? "",
    ]
  }

  private func sentence(_ conclusion: Conclusion) -> String {
    let best = [conclusion.winner] + conclusion.equals
    let reference = conclusion.reference.name
    let tied = Self.all(best.map(\.name) + [reference])
    switch conclusion.certainty {
    case .clear, .unknown:
      // Each has its own figure.
      let figures = best.map { mode in
        let isUneven = report.result(of: mode)?.times.isUneven == true
        return (report.speed(of: mode, against: conclusion.reference)?.text ?? "–") + (isUneven ? " (uneven)" : "")
      }
      let verb = best.count > 1 ? " tie:" : " is"
      return "\(Self.all(best.map(\.name)))\(verb) \(Self.all(figures)) times as fast as \(reference)."
    case .tie: return "A tie: \(tied) took the same time."
    case .withinScatter: return "A tie: \(tied) differ by no more than their runs do."
    case .tooShort:
      let times = report.results.map { "\($0.mode.name) \(Quantity.measurement($0.times.median))" }
      return "Too short to compare: \(Self.all(times))."
    }
  }

  /// `a, b and c`
  private static func all(_ words: [String]) -> String {
    words.count < 2 ? words.joined() : "\(words.dropLast().joined(separator: ", ")) and \(words[words.count - 1])"
  }

  /// Equal notes of several modes are one line.
  var warnings: [String] {
    let notes = report.results.flatMap { result in result.warnings.map { (Self.text($0), result.mode.name) } }
    let lines = Dictionary(grouping: notes.enumerated(), by: \.element.0).values
      .sorted { $0[0].offset < $1[0].offset }.map { same in
        let modes = same.count == report.results.count ? "" : ", \(same.map(\.element.1).joined(separator: ", "))"
        return "Note\(modes): \(same[0].element.0)"
      }
    guard let bytes = report.unequalBytes else { return lines }
    let least = Quantity.bytes(bytes.lowerBound)
    let most = Quantity.bytes(bytes.upperBound)
    return lines + ["Note: runs moved from \(least) to \(most): not the same work."]
  }

  private static func text(_ warning: ModeResult.Warning) -> String {
    switch warning {
    case .fewRuns(let count): "\(count) \(count == 1 ? "run says" : "runs say") little; try --runs 3 or more"
    case .uneven(let times, let round):
      "uneven, from \(Quantity.measurement(times.minimum)) to \(Quantity.measurement(times.maximum)): round \(round) "
        + "is far from the others; is something else going on?"
    case .tooShort: "runs under 20 ms are too short to compare; a longer list says more"
    case .waited(let time, let round):
      "round \(round) waited \(Quantity.measurement(time)) for a busy server (429, 503)"
    }
  }

  static func text(_ error: ComparisonError) -> [String] {
    switch error {
    case .cancelled: ["Interrupted: nothing is left behind."]
    case .broken(_, let error): [(error.address.map { "\($0): " } ?? "") + FailureMessages(error).line]
    case .invalid(let step, let reason): text(step, reason)
    }
  }

  private static func text(_ step: ComparisonPlan.Step, _ reason: ComparisonError.Objection) -> [String] {
    let place = "The comparison was stopped in run \(step.round) of mode \(step.mode.name)"
    switch reason {
    case .failed(let failures):
      return ["\(place): times of a list that fails say nothing. It failed for:"] + told(failures)
    case .nothingDownloaded: return ["\(place): there was nothing to download."]
    case .differs(let difference, let reference):
      let what =
        switch difference {
        case .bytes(let address): "\(address) has other bytes"
        case .missing(let address): "\(address) is missing"
        case .unexpected(let address): "\(address) was not there"
        }
      return [
        "\(place): \(what) than in run \(reference.round) of mode \(reference.mode.name). "
          + "Does the server change its files?"
      ]
    }
  }

  /// Wide enough for `async-let -j 16`, if that is compared.
  private var nameWidth: Int { max(11, report.results.map(\.mode.name.count).max() ?? 0) + 2 }
}
