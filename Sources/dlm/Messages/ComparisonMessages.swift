import Comparing
import DownloadModel
import TerminalProgress

/// The table and the sentences of `dlm compare`.
struct ComparisonMessages {
  private let report: ComparisonReport
  /// ", 16 files at a time" or ", up to 64 files at once"; empty where each mode's name tells it.
  private let width: String
  private let isInMemory: Bool

  init(_ report: ComparisonReport, jobs: Int, adapts: Bool, inMemory: Bool = false) {
    (self.report, isInMemory) = (report, inMemory)
    if report.results.contains(where: { $0.mode.jobs != nil }) {
      width = ""
    } else {
      width = adapts ? ", up to \(jobs) files at once" : ", \(Quantity.files(jobs)) at a time"
    }
  }

  /// Above the files of a run: `run 2 of 9: async-let, round 1`, and the table so far.
  static func heading(_ step: ComparisonPlan.Step, of plan: ComparisonPlan, _ table: [String]) -> RunHeading {
    let (place, count) = (place(of: step, in: plan), plan.steps.count)
    let round = step.isWarmUp ? "warming up" : "round \(step.round)"
    return RunHeading(
      ["run \(place) of \(count): \(step.mode.name), \(round)"] + table,
      fields: [
        "run": .number(Int64(place)), "runs": .number(Int64(count)), "round": .number(Int64(step.round)),
        "mode": .text(step.mode.mode.rawValue), "jobs": .of(step.mode.jobs),
        "warmUp": .flag(step.isWarmUp),
      ])
  }

  private static func place(of step: ComparisonPlan.Step, in plan: ComparisonPlan) -> Int {
    plan.steps.firstIndex(of: step).map { $0 + 1 } ?? 0
  }

  /// `run 2 of 9 async-let 412 ms`
  static func runLine(
    _ step: ComparisonPlan.Step, _ observation: RunObservation, of plan: ComparisonPlan
  ) -> String {
    let number = "run \(place(of: step, in: plan)) of \(plan.steps.count)"
    let nameWidth = max(12, (plan.modes.map(\.name.count).max() ?? 0) + 2)
    return TextColumns.line([number, step.mode.name, milliseconds(observation.wall)], [13, nameWidth, 0])
  }

  static func leftOut(_ failures: [DownloadError]) -> [String] {
    let it = failures.count == 1 ? "it" : "them"
    let count = Quantity.count(failures.count, "file fails", "files fail")
    return ["\(count), and no run has \(it) from now on (--strict ends here):"]
      + failures.prefix(FailureLog.told).map {
        "    \(TerminalText.sanitized($0.address ?? "")): \(FailureMessages($0).line)"
      } + (failures.count > FailureLog.told ? ["    …"] : []) + ["Beginning anew without \(it)."]
  }

  /// The last line of `--progress json`.
  static func json(_ pages: ReportPages) -> String {
    JSONValue.object([
      "v": .number(1), "t": .text(DisplayWords.all.timestamp()), "type": .text("comparison"), "id": .null,
      "url": .null, "report": pages.value,
    ]).text + "\n"
  }

  var table: [String] {
    TextColumns.lines(
      [["MODE", "MEDIAN", "SPREAD", "RATE", "SPEED"]] + report.results.map(row), [nameWidth, 12, 10, 15, 0])
  }

  var lines: [String] {
    table + ["(spread: half the way from fastest to slowest; speed: ± a standard deviation)"] + effort
      + (headline.isEmpty ? [] : ["", headline]) + explanations + work + warnings
  }

  private var work: [String] {
    guard let some = report.results.first, let run = some.runs.first else { return [] }
    let leftOut = Quantity.count(report.leftOut.count, "file that fails is", "files that fail are")
    let runs = Quantity.count(some.runs.count, "run", "runs")
    return (report.leftOut.isEmpty ? [] : ["\(leftOut) left out."]) + [
      "Every run fetched the same \(Quantity.count(run.files)) files, \(Quantity.bytes(run.bytes)), byte for byte"
        + "\(isInMemory ? ", into memory" : ""); \(runs) a mode\(width)."
    ]
  }

  /// The judgement in one sentence; empty with fewer than two modes.
  var headline: String { report.conclusion.map(Self.sentence) ?? "" }

  var explanations: [String] {
    Explanation.all(report).map(Self.text) + [AutoForecast.of(report).map(Self.text)].compactMap(\.self)
  }

  private static func text(_ forecast: AutoForecast) -> String {
    switch forecast {
    case .manyAtOnce(let time):
      "--mode auto would have asked for up to \(Settings.mostJobs) at once: a file takes \(milliseconds(time)), "
        + "and it waits for none."
    case .moreAndMore:
      "--mode auto would have begun with two at a time and gone on to more for as long as that gained."
    case .fewForShort: "--mode auto would have stayed with two at a time: it is over before more could pay."
    case .fewForNoGain: "--mode auto would have stayed with few at a time: more bring no more here."
    }
  }

  private static func text(_ explanation: Explanation) -> String {
    switch explanation {
    case .sideBySide(let waiting, _) where waiting >= 0.7:
      "One by one, \(percent(waiting)) of a file's time is waiting for connections and answers; side by side files "
        + "wait together."
    case .sideBySide(let waiting, let rate) where waiting <= 0.3:
      "A connection brings \(Quantity.rate(rate)), and waiting is only \(percent(waiting)) of a file's time: several "
        + "connections bring several times as much."
    case .sideBySide(let waiting, let rate):
      "One by one, \(percent(waiting)) of a file's time is waiting, and the rest receiving at \(Quantity.rate(rate)); "
        + "side by side files wait together, and each connection brings its own."
    case .sharedLine(let rate):
      "More files at a time share one line: it, or the server, gives \(Quantity.rate(rate)) in all."
    case .busyServer(let answers): "The server limits: however many ask, it answers about \(answers) at a time."
    case .slowConnecting(let time):
      "The server limits: side by side, a file waits \(milliseconds(time)) longer for its connection. Fewer at a time "
        + "may be faster: compare --jobs 1,4,16."
    case .hostLimit(let host, let connections):
      "The server limits: \(TerminalText.sanitized(host)) takes \(connections) "
        + "\(connections == 1 ? "connection" : "connections") at a time."
    }
  }

  private static func percent(_ part: Double) -> String { "\(Int((part * 100).rounded())) %" }

  /// What the median run of each mode took.
  private var effort: [String] {
    let runs = report.results.map { ($0.mode.name, $0.medianRun.details) }.filter { !$0.1.transfers.isEmpty }
    guard !runs.isEmpty else { return [] }
    func time(_ time: Duration?) -> String { time.map(Self.milliseconds) ?? "–" }
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
    return [""] + TextColumns.lines(effort, [nameWidth, -10, -9, -9, -9, -9, -8, -8])
      + [""] + TextColumns.lines(shares, [nameWidth, -10, -9, -9, -9, -9, -9, -9])
  }

  private func row(_ result: ModeResult) -> [String] {
    let speed = report.speed(of: result.mode, against: .sequential).map(Self.factor) ?? ""
    return [
      result.mode.name, Self.milliseconds(result.times.median),
      result.times.count > 1 ? "± \(Self.percent(result.times.spread))" : "–",
      result.bytesPerSecond.map(Quantity.rate) ?? "", result.mode == .sequential ? "1" : speed,
    ]
  }

  private static func sentence(_ conclusion: Conclusion) -> String {
    let (winner, reference) = (conclusion.winner.name, conclusion.reference.name)
    return switch conclusion.certainty {
    case .clear, .unknown:
      if conclusion.equals.isEmpty {
        "\(winner) is \(factor(conclusion.speed)) times as fast as \(reference)."
      } else {
        "\(([winner] + conclusion.equals.map(\.name)).joined(separator: " and ")) are "
          + "\(factor(conclusion.speed)) times as fast as \(reference), and a tie between them."
      }
    case .tie: "A tie: \(winner) and \(reference) took the same time."
    case .withinScatter: "A tie: \(winner) and \(reference) differ by no more than their runs do."
    }
  }

  /// Equal notes of several modes are one line.
  var warnings: [String] {
    let notes = report.results.flatMap { result in result.warnings.map { (text: Self.text($0), mode: result.mode.name) }
    }
    let lines = Dictionary(grouping: notes.enumerated(), by: \.element.text).values
      .sorted { $0[0].offset < $1[0].offset }.map { same in
        let modes = same.count == report.results.count ? "" : ", \(same.map(\.element.mode).joined(separator: ", "))"
        return "Note\(modes): \(same[0].element.text)"
      }
    guard let bytes = report.unequalBytes else { return lines }
    let (least, most) = (Quantity.bytes(bytes.lowerBound), Quantity.bytes(bytes.upperBound))
    return lines + ["Note: runs moved from \(least) to \(most): not the same work."]
  }

  private static func text(_ warning: MeasurementWarning) -> String {
    switch warning {
    case .fewRuns(let count): "\(count) \(count == 1 ? "run says" : "runs say") little; try --runs 3 or more"
    case .wideSpread(let part): "the runs differ by ± \(percent(part)); is something else going on?"
    case .tooShort: "too short to measure well; a longer list says more"
    case .outliers(let rounds):
      "round \(rounds.map(String.init).joined(separator: ", ")) stands far from the others; is something else going on?"
    case .clockJumped(let rounds):
      "in round \(rounds.map(String.init).joined(separator: ", ")) the clock was set, or the machine slept"
    }
  }

  static func text(_ error: ComparisonError) -> [String] {
    switch error {
    case .cancelled: ["Interrupted: nothing is left behind."]
    case .broken(_, let error):
      [(error.address.map { "\($0): " } ?? "") + FailureMessages(error).line]
    case .invalid(let run): text(run)
    }
  }

  private static func text(_ run: InvalidRun) -> [String] {
    let place = "The comparison was stopped in run \(run.step.round) of mode \(run.step.mode.name)"
    switch run.reason {
    case .failed(let failures):
      return ["\(place): times of a list that fails say nothing. It failed for:"]
        + failures.map { "    \($0.address ?? ""): \(FailureMessages($0).line)" }
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

  private static func factor(_ speed: RelativeSpeed) -> String {
    guard let deviation = speed.deviation else { return Quantity.decimal(speed.factor, 10) }
    // "14.5 ± 0.0" beside "14.4 ± 0.1" would look like a winner.
    let parts = deviation >= 0.05 ? 10 : 100
    return "\(Quantity.decimal(speed.factor, parts)) ± \(Quantity.decimal(max(deviation, 0.01), parts))"
  }

  /// Three digits, so that modes can be told apart: `412 ms`, `3.41 s`.
  static func milliseconds(_ time: Duration) -> String {
    let seconds = time / .seconds(1)
    if seconds < 1 { return "\(Int((seconds * 1000).rounded())) ms" }
    return seconds < 60 ? "\(Quantity.decimal(seconds, 100)) s" : Quantity.duration(time)
  }

  /// Wide enough for `async-let -j 16`, where that is compared.
  private var nameWidth: Int { max(11, report.results.map(\.mode.name.count).max() ?? 0) + 2 }
}
