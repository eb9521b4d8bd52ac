import TerminalProgress

/// The content that all forms of a report show, computed once.
struct ReportContents {
  let modes: [Mode]
  /// The baseline of the others' speed; `nil` if nothing is compared.
  let baseline: ComparedMode?
  let axis: TimeAxis
  let report: ComparisonReport

  struct Mode {
    let result: ModeResult
    let run: RunMeasurement
    let files: [FileTimeline]
    let shares: TimeShares
    let speed: RelativeSpeed?
    let isBaseline: Bool
    let hasWon: Bool

    var name: String { result.mode.name }
    var details: RunDetails { run.details }
    /// Until the end of the last file, or of the run.
    var axis: TimeAxis { TimeAxis(end: files.reduce(run.wall) { max($0, $1.end) }) }
    var isDetailed: Bool { !details.transfers.isEmpty }
    /// Against the baseline's speed: `5.2 ± 0.3`.
    var factor: String? { isBaseline ? "1" : speed?.text }
    /// `214 ms · 5.2 ± 0.3 ×`
    var label: String {
      Quantity.measurement(result.times.median) + (factor.map { " · \($0) ×" } ?? "")
    }

    /// Average time of a phase; `nil` if no file had it.
    func perFile(_ phase: FilePhase) -> String? {
      shares.times[phase].map { Markup.milliseconds($0 / max(1, files.count)) }
    }
  }

  init(_ report: ComparisonReport) {
    self.report = report
    let conclusion = report.conclusion
    let baseline =
      report.results.count < 2
      ? nil : report.result(of: .sequential)?.mode ?? conclusion?.reference ?? report.results.first?.mode
    self.baseline = baseline
    let winners = conclusion.map { $0.certainty.hasNoWinner ? [] : [$0.winner] + $0.equals } ?? []
    modes = report.results.map { result in
      let run = result.medianRun
      let files = FileTimeline.all(run.details)
      return Mode(
        result: result, run: run, files: files, shares: TimeShares(files),
        speed: baseline.flatMap { report.speed(of: result.mode, against: $0) },
        isBaseline: result.mode == baseline, hasWon: winners.contains(result.mode))
    }
    axis = TimeAxis(end: modes.map(\.axis.end).max() ?? .zero)
  }

  var isComparison: Bool { modes.count > 1 }
  var isDetailed: Bool { modes.contains { $0.isDetailed } }

  var phases: [FilePhase] { FilePhase.allCases.filter { phase in modes.contains { $0.shares[phase] > .zero } } }

  var anyFailed: Bool { modes.contains { $0.files.contains(where: \.hasFailed) } }

  // MARK: The table

  typealias Measure = (name: String, values: [String])

  /// One row for each measure, with one value for each mode.
  var measures: [Measure] {
    func all(_ name: String, _ value: (Mode) -> String?) -> Measure {
      (name, modes.map { value($0) ?? "–" })
    }
    func detail(_ name: String, _ value: (RunDetails) -> String?) -> Measure {
      all(name) { $0.isDetailed ? value($0.details) : nil }
    }
    let measures = [
      all(isComparison || hasSeveralRuns ? "Time, median" : "Time") { Quantity.measurement($0.result.times.median) },
      hasSeveralRuns ? all("Spread") { $0.result.times.spreadText } : nil,
      baseline.map { all("Speed, \($0.name) = 1") { $0.factor } },
      all("Goodput") { $0.result.bytesPerSecond.map(Quantity.rate) },
      detail("Time to first byte, median") { $0.timeToFirstByte.map(Quantity.measurement) },
      all("CPU time") { $0.details.processorTime > .zero ? Quantity.measurement($0.details.processorTime) : nil },
      all("Peak memory") { $0.details.peakMemory.map(Quantity.bytes) },
      detail("Connections") { Quantity.count($0.connections) },
      detail("Requests") { Quantity.count($0.requests) },
      detail("Retries") { Quantity.count($0.retries) },
      all("Files at once, at most") { $0.details.mostAtOnce > 0 ? Quantity.count($0.details.mostAtOnce) : nil },
    ]
    // Omitted: the time in the queue depends on the mode, and finishing takes hardly any time.
    let phases = [FilePhase.lookingUp, .connecting, .securing, .waiting, .receiving]
    return measures.compactMap(\.self)
      + phases.map { phase in all("Per file: \(phase.name)") { $0.perFile(phase) } }
  }

  var hasSeveralRuns: Bool { modes.contains { $0.result.times.count > 1 } }

  /// `40 files, 12.3 MiB, 5 runs a mode`
  var scope: String {
    guard let mode = modes.first else { return "no runs" }
    let work = "\(Quantity.files(mode.run.files)), \(Quantity.bytes(mode.run.bytes))"
    guard isComparison || hasSeveralRuns else { return work }
    let counts = modes.map(\.result.times.count)
    let least = counts.min() ?? 0
    let most = counts.max() ?? 0
    let runs = least == most ? Quantity.count(least, "run", "runs") : "\(least) to \(most) runs"
    return "\(work), \(runs)\(isComparison ? " a mode" : "")"
  }

  /// Definitions that readers of the numbers need.
  var definitions: [String] {
    [
      hasSeveralRuns ? "Spread: half the range between fastest and slowest run, as a part of the median." : nil,
      baseline.map { "Speed: the median time of \($0.name) by the mode's own; ± is one standard deviation." },
      isDetailed && hasSeveralRuns
        ? "Charts over time and details are of the run whose time is nearest to its mode's median." : nil,
      isDetailed
        ? "Throughput: the bytes of a transfer, spread evenly over the time in which they came. It and the "
          + "files at work are means over steps of \(Markup.milliseconds(axis.end / RunCurve.pieces))." : nil,
      isDetailed
        ? "Times per file are sums over all files, divided by their number; on a connection that is there "
          + "already, nothing is looked up or connected." : nil,
    ].compactMap(\.self)
  }
}
