import DownloadModel
import TerminalProgress

/// What all forms of a report show, worked out once.
struct ReportContents {
  let modes: [Mode]
  /// What the others' speed is told against; nil where nothing is compared.
  let baseline: ComparedMode?
  /// Of all waterfalls.
  let axis: TimeAxis
  let report: ComparisonReport

  /// A mode and the run that stands for it.
  struct Mode {
    let result: ModeResult
    let run: RunMeasurement
    /// Of that run.
    let files: [FileTimeline]
    let shares: TimeShares
    let speed: RelativeSpeed?
    let isBaseline: Bool
    let hasWon: Bool

    var name: String { result.mode.name }
    var details: RunDetails { run.details }
    /// When the last of its files was done, or the run.
    var end: Duration { files.reduce(run.wall) { max($0, $1.end) } }
    /// Whether anything is known beside the time.
    var isDetailed: Bool { !details.transfers.isEmpty }
  }

  init(_ report: ComparisonReport) {
    self.report = report
    let conclusion = report.conclusion
    let baseline =
      report.results.count < 2
      ? nil : report.result(of: .sequential)?.mode ?? conclusion?.reference ?? report.results.first?.mode
    self.baseline = baseline
    let winners = conclusion.map { found -> [ComparedMode] in
      switch found.certainty {
      case .clear, .unknown: [found.winner] + found.equals
      case .tie, .withinScatter: []
      }
    }
    modes = report.results.compactMap { result in
      guard let run = Self.medianRun(of: result) else { return nil }
      let files = FileTimeline.all(run.details)
      return Mode(
        result: result, run: run, files: files, shares: TimeShares(files),
        speed: baseline.flatMap { report.speed(of: result.mode, against: $0) },
        isBaseline: result.mode == baseline, hasWon: winners?.contains(result.mode) ?? false)
    }
    axis = TimeAxis(end: modes.map(\.end).max() ?? .zero)
  }

  var isComparison: Bool { modes.count > 1 }
  var isDetailed: Bool { modes.contains { $0.isDetailed } }

  /// The run whose time is nearest to the median, of equally near ones the earliest.
  static func medianRun(of result: ModeResult) -> RunMeasurement? {
    result.runs.min { left, right in
      let (one, other) = (distance(left.wall, result.times.median), distance(right.wall, result.times.median))
      return (one, left.round) < (other, right.round)
    }
  }

  private static func distance(_ one: Duration, _ other: Duration) -> Duration {
    one < other ? other - one : one - other
  }

  // MARK: Drawings

  var bars: SpeedBars {
    SpeedBars(
      bars: modes.map { mode in
        SpeedBars.Bar(
          name: mode.name, label: Self.label(mode), median: mode.result.times.median,
          runs: mode.result.runs.map(\.wall), hasWon: mode.hasWon)
      })
  }

  /// `412 ms · 5.2 ± 0.3 ×`
  private static func label(_ mode: Mode) -> String {
    let time = ReportWords.time(mode.result.times.median)
    if mode.isBaseline { return "\(time) · 1 ×" }
    return mode.speed.map { "\(time) · \(ReportWords.factor($0)) ×" } ?? time
  }

  func waterfall(_ mode: Mode) -> RunWaterfall { RunWaterfall(files: mode.files, axis: axis) }

  /// The curves of each mode, with what is the top of all of them.
  var throughputs: (curves: [RunCurve], top: Double) {
    let curves = modes.map { RunCurve.throughput($0.details.transfers, on: axis) }
    return (curves, curves.map(\.peak).max() ?? 0)
  }

  var filesAtWork: (curves: [RunCurve], top: Double) {
    let curves = modes.map { RunCurve.filesAtWork($0.files, on: axis) }
    return (curves, curves.map(\.peak).max() ?? 0)
  }

  /// The phases that a legend explains.
  var phases: [FilePhase] {
    FilePhase.allCases.filter { phase in modes.contains { $0.shares[phase] > .zero } }
  }

  var anyFailed: Bool { modes.contains { $0.files.contains(where: \.hasFailed) } }

  // MARK: The table

  struct Measure: Equatable {
    let name: String
    /// A value a mode.
    let values: [String]
  }

  var measures: [Measure] {
    func all(_ name: String, _ value: (Mode) -> String?) -> Measure {
      Measure(name: name, values: modes.map { value($0) ?? ReportWords.missing })
    }
    func detail(_ name: String, _ value: (RunDetails) -> String?) -> Measure {
      all(name) { $0.isDetailed ? value($0.details) : nil }
    }
    var measures = [
      all(isComparison || hasSeveralRuns ? "Time, median" : "Time") {
        ReportWords.time($0.result.times.median)
      }
    ]
    if hasSeveralRuns {
      measures.append(
        all("Spread") {
          $0.result.times.count > 1 ? ReportWords.percent($0.result.times.spread) : nil
        })
    }
    if let baseline {
      measures.append(
        all("Speed, \(baseline.name) = 1") {
          $0.isBaseline ? "1" : $0.speed.map(ReportWords.factor)
        })
    }
    measures += [
      all("Goodput") { $0.result.bytesPerSecond.map(Quantity.rate) },
      detail("Time to first byte, median") { $0.timeToFirstByte.map(ReportWords.time) },
      all("CPU time") {
        $0.details.processorTime > .zero ? ReportWords.time($0.details.processorTime) : nil
      },
      all("Peak memory") { $0.details.peakMemory.map(Quantity.bytes) },
      detail("Connections") { Quantity.count($0.connections) },
      detail("Requests") { Quantity.count($0.requests) },
      detail("Retries") { Quantity.count($0.retries) },
      all("Files at once, at most") {
        $0.details.mostAtOnce > 0 ? Quantity.count($0.details.mostAtOnce) : nil
      },
    ]
    for phase in Self.tabled {
      measures.append(
        all("Per file: \(PhaseLook(phase).name)") { mode in
          mode.shares.times[phase].map { ReportWords.milliseconds($0 / max(1, mode.files.count)) }
        })
    }
    return measures
  }

  /// The phases of the table. What a file waits for its turn is the mode's, and its end is hardly any time.
  static let tabled: [FilePhase] = [.lookingUp, .connecting, .securing, .waiting, .receiving]

  var hasSeveralRuns: Bool { modes.contains { $0.result.times.count > 1 } }

  /// `40 files, 12.3 MiB, 5 runs a mode`
  var scope: String {
    guard let mode = modes.first else { return "no runs" }
    var parts = [
      Quantity.files(mode.run.files), Quantity.bytes(mode.run.bytes),
    ]
    if isComparison || hasSeveralRuns {
      let counts = modes.map(\.result.times.count)
      if let least = counts.min(), let most = counts.max() {
        let runs = least == most ? Quantity.count(least, "run", "runs") : "\(least) to \(most) runs"
        parts.append(isComparison ? "\(runs) a mode" : runs)
      }
    }
    return parts.joined(separator: ", ")
  }

  /// How the numbers are defined: what their readers cannot guess.
  var definitions: [String] {
    var definitions: [String] = []
    if hasSeveralRuns {
      definitions.append("Spread: half the way from the fastest to the slowest run, as a part of the median.")
    }
    if baseline != nil {
      definitions.append(
        "Speed: the mean time of \(baseline?.name ?? "") through that of the mode; " + "± is one standard deviation.")
    }
    if isDetailed {
      if hasSeveralRuns {
        definitions.append("Drawings over time and details are of the run whose time is nearest to its mode's median.")
      }
      definitions.append(
        "Throughput: the bytes of a transfer, spread evenly over the time in which they came. It and the "
          + "files at work are means over steps of \(ReportWords.milliseconds(axis.end / RunCurve.pieces)).")
      definitions.append(
        "Times per file are sums over all files, divided by their number; on a connection that is there "
          + "already, nothing is looked up or connected.")
    }
    return definitions
  }
}
