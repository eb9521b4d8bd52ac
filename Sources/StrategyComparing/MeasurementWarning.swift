/// A reason to trust the numbers of a mode less.
public enum MeasurementWarning: Sendable, Equatable {
  /// Fewer than three runs: no scatter to speak of.
  case fewRuns(Int)
  /// The spread, as a part of the median, is above a tenth.
  case wideSpread(Double)
  /// The median is under five milliseconds: starting up weighs more than downloading.
  case tooShort(Duration)
  /// Runs of these rounds lie far from the others: something else was going on.
  case outliers(rounds: [Int])

  static func all(for runs: [RunMeasurement], times: SampleSummary) -> [MeasurementWarning] {
    var warnings: [MeasurementWarning] = []
    if times.count < fewestRuns { warnings.append(.fewRuns(times.count)) }
    if times.spread > widestSpread { warnings.append(.wideSpread(times.spread)) }
    if times.median < shortestRun { warnings.append(.tooShort(times.median)) }
    let outliers = outlyingRounds(of: runs, times: times)
    if !outliers.isEmpty { warnings.append(.outliers(rounds: outliers)) }
    return warnings
  }

  /// Rounds whose time is more than ten robust standard deviations from the median, hyperfine's limit: one
  /// standard deviation of normal scatter is 1.4826 median deviations.
  private static func outlyingRounds(of runs: [RunMeasurement], times: SampleSummary) -> [Int] {
    // Two runs have no majority to lie away from.
    guard times.count >= fewestRuns else { return [] }
    // Equal times would make the next nanosecond an outlier; half a percent is the clock and the kernel.
    let scatter = max(times.medianDeviation, times.median * 0.005)
    let limit = scatter * (10 * 1.4826)
    return runs.filter { $0.wall > times.median + limit || $0.wall < times.median - limit }.map(\.round)
  }

  private static let fewestRuns = 3
  private static let widestSpread = 0.10
  // As hyperfine: below it the start of a process and the clock are part of what is measured.
  private static let shortestRun = Duration.milliseconds(5)
}
