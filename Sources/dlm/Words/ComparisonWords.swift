import DownloadModel
import StrategyComparing
import TerminalProgress

/// The table and the sentences of `dlm compare`.
struct ComparisonWords {
  private let report: ComparisonReport
  /// "16" or "up to 64".
  private let jobs: String

  init(_ report: ComparisonReport, jobs: Int, adapts: Bool) {
    self.report = report
    self.jobs = adapts ? "up to \(jobs)" : "\(jobs)"
  }

  static let emptyList =
    "dlm: the list holds no address, so there is nothing to compare; name one that does: an address a line"

  /// Said when a run has ended: `run 2 of 9  async-let   412 ms`.
  static func runLine(
    _ step: ComparisonPlan.Step, _ observation: RunObservation, of plan: ComparisonPlan
  ) -> String {
    let place = plan.steps.firstIndex(of: step).map { $0 + 1 } ?? 0
    let number = pad("run \(place) of \(plan.steps.count)", to: 13)
    let mode = pad(step.mode.rawValue, to: 12)
    return "\(number)\(mode)\(milliseconds(observation.wall))"
  }

  var lines: [String] {
    var lines = [Self.row("MODE", "MEDIAN", "SPREAD", "RATE", "SPEED")]
    lines += report.results.map(row)
    if let conclusion = report.conclusion { lines += ["", Self.sentence(conclusion)] }
    if let some = report.results.first, let run = some.runs.first {
      lines.append(
        "Every run fetched the same \(Quantity.count(run.files)) files, \(Quantity.bytes(run.bytes)), byte for byte; "
          + "\(some.runs.count == 1 ? "1 run" : "\(some.runs.count) runs") a mode, \(jobs) files at a time.")
    }
    lines += warnings
    return lines
  }

  private func row(_ result: ModeResult) -> String {
    let speed = report.speed(of: result.mode, against: .sequential).map(Self.factor) ?? ""
    return Self.row(
      result.mode.rawValue, Self.milliseconds(result.times.median),
      result.times.count > 1 ? "± \(Int((result.times.spread * 100).rounded())) %" : "–",
      result.bytesPerSecond.map(Quantity.rate) ?? "", result.mode == .sequential ? "1" : speed)
  }

  private static func sentence(_ conclusion: Conclusion) -> String {
    let (winner, reference) = (conclusion.winner.rawValue, conclusion.reference.rawValue)
    return switch conclusion.certainty {
    case .clear, .unknown: "\(winner) is \(factor(conclusion.speed)) times as fast as \(reference)."
    case .tie: "A tie: \(winner) and \(reference) took the same time."
    case .withinScatter: "A tie: \(winner) and \(reference) differ by no more than their runs do."
    }
  }

  /// Equal notes of several modes are one line.
  private var warnings: [String] {
    var modes: [(note: String, modes: [String])] = []
    for result in report.results {
      for note in result.warnings.map(Self.words) {
        if let index = modes.firstIndex(where: { $0.note == note }) {
          modes[index].modes.append(result.mode.rawValue)
        } else {
          modes.append((note, [result.mode.rawValue]))
        }
      }
    }
    var lines = modes.map { entry in
      entry.modes.count == report.results.count
        ? "Note: \(entry.note)" : "Note, \(entry.modes.joined(separator: ", ")): \(entry.note)"
    }
    if let bytes = report.unequalBytes {
      lines.append(
        "Note: runs moved from \(Quantity.bytes(bytes.lowerBound)) to \(Quantity.bytes(bytes.upperBound)): "
          + "not the same work.")
    }
    return lines
  }

  private static func words(_ warning: MeasurementWarning) -> String {
    switch warning {
    case .fewRuns(let count): "\(count) \(count == 1 ? "run says" : "runs say") little; try --runs 3 or more"
    case .wideSpread(let part):
      "the runs differ by ± \(Int((part * 100).rounded())) %; is something else going on?"
    case .tooShort: "too short to measure well; a longer list says more"
    case .outliers(let rounds):
      "round \(rounds.map(String.init).joined(separator: ", ")) stands far from the others; is something else going on?"
    }
  }

  static func words(_ error: ComparisonError) -> [String] {
    switch error {
    case .cancelled: ["Interrupted: nothing is left behind."]
    case .broken(_, let error):
      [(error.address.map { "\($0): " } ?? "") + FailureWords(error).line]
    case .invalid(let run): words(run)
    }
  }

  private static func words(_ run: InvalidRun) -> [String] {
    let place = "The comparison was stopped in run \(run.step.round) of mode \(run.step.mode.rawValue)"
    switch run.reason {
    case .failed(let failures):
      return ["\(place): times of a list that fails say nothing. It failed for:"]
        + failures.map { "    \($0.address): \(FailureWords($0.error).line)" }
    case .nothingDownloaded: return ["\(place): there was nothing to download."]
    case .differs(let difference, let reference):
      let what =
        switch difference {
        case .bytes(let address): "\(address) has other bytes"
        case .missing(let address): "\(address) is missing"
        case .unexpected(let address): "\(address) was not there"
        case .somewhere: "the files differ"
        }
      return [
        "\(place): \(what) than in run \(reference.round) of mode \(reference.mode.rawValue). "
          + "Does the server change its files?"
      ]
    }
  }

  private static func factor(_ speed: RelativeSpeed) -> String {
    let deviation = speed.deviation.map { " ± \(tenths($0))" } ?? ""
    return "\(tenths(speed.factor))\(deviation)"
  }

  private static func tenths(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }

  /// Three digits, so that modes can be told apart: `412 ms`, `3.41 s`.
  private static func milliseconds(_ time: Duration) -> String {
    let seconds = time / .seconds(1)
    if seconds < 1 { return "\(Int((seconds * 1000).rounded())) ms" }
    if seconds < 60 {
      let hundredths = Int((seconds * 100).rounded())
      return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100) s"
    }
    return Quantity.duration(time)
  }

  private static func row(_ mode: String, _ median: String, _ spread: String, _ rate: String, _ speed: String)
    -> String
  {
    pad(mode, to: 13) + pad(median, to: 12) + pad(spread, to: 10) + pad(rate, to: 15) + speed
  }

  private static func pad(_ text: String, to width: Int) -> String {
    text + String(repeating: " ", count: max(1, width - text.count))
  }
}
