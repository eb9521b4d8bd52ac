package struct ModeResult: Sendable, Equatable {
  package let mode: ComparedMode
  /// In the order of their rounds.
  package let runs: [RunMeasurement]
  package let times: SampleSummary
  package let warnings: [MeasurementWarning]

  /// - Parameter runs: all of `mode`; empty gives `nil`.
  package init?(mode: ComparedMode, runs: [RunMeasurement]) {
    guard let times = SampleSummary(runs.map(\.wall)) else { return nil }
    self.mode = mode
    self.runs = runs
    self.times = times
    warnings = MeasurementWarning.all(for: runs, times: times)
  }

  /// The run whose time is nearest to the median; the earlier of two.
  package var medianRun: RunMeasurement {
    // There is at least one run.
    runs.min { $0.wall.distance(to: times.median) < $1.wall.distance(to: times.median) } ?? runs[0]
  }

  /// Bytes a second over the network at the median time; `nil` if that is zero.
  package var bytesPerSecond: Double? {
    guard times.median > .zero else { return nil }
    let bytes = runs.reduce(0.0) { $0 + Double($1.bytes) } / Double(runs.count)
    return bytes / (times.median / .seconds(1))
  }
}
