/// What the times of one mode say. All values follow from the samples alone.
public struct SampleSummary: Sendable, Equatable {
  public let count: Int
  public let minimum: Duration
  public let maximum: Duration
  /// The middle time, or the mean of the two middle ones.
  public let median: Duration
  public let mean: Duration
  /// Of the sample (divided by n − 1); nil for a single run, which says nothing about its scatter.
  public let standardDeviation: Duration?
  /// Median of the distances from the median: a scatter that one odd run cannot stretch.
  public let medianDeviation: Duration

  /// - Parameter samples: in any order; nil comes of none.
  public init?(_ samples: [Duration]) {
    let sorted = samples.sorted()
    guard let first = sorted.first, let last = sorted.last else { return nil }
    let median = Self.median(sorted: sorted)
    let mean = sorted.reduce(.zero, +) / sorted.count
    count = sorted.count
    minimum = first
    maximum = last
    self.median = median
    self.mean = mean
    medianDeviation = Self.median(sorted: sorted.map { Self.distance($0, median) }.sorted())
    if sorted.count > 1 {
      let squares = sorted.reduce(0.0) { sum, sample in
        let distance = (sample - mean) / .seconds(1)
        return sum + distance * distance
      }
      standardDeviation = .seconds((squares / Double(sorted.count - 1)).squareRoot())
    } else {
      standardDeviation = nil
    }
  }

  /// Half the way from the fastest to the slowest run, as a part of the median: 0.1 is ±10 %.
  public var spread: Double {
    median > .zero ? (maximum - minimum) / 2 / median : 0
  }

  private static func median(sorted: [Duration]) -> Duration {
    let middle = sorted.count / 2
    return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
  }

  private static func distance(_ one: Duration, _ other: Duration) -> Duration {
    one < other ? other - one : one - other
  }
}

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
  /// In these rounds somebody set the clock, or the machine slept.
  case clockJumped(rounds: [Int])

  static func all(for runs: [RunMeasurement], times: SampleSummary) -> [MeasurementWarning] {
    var warnings: [MeasurementWarning] = []
    if times.count < fewestRuns { warnings.append(.fewRuns(times.count)) }
    if times.spread > widestSpread { warnings.append(.wideSpread(times.spread)) }
    if times.median < shortestRun { warnings.append(.tooShort(times.median)) }
    let outliers = outlyingRounds(of: runs, times: times)
    if !outliers.isEmpty { warnings.append(.outliers(rounds: outliers)) }
    let jumped = runs.filter { $0.details.clockJump > largestJump }.map(\.round)
    if !jumped.isEmpty { warnings.append(.clockJumped(rounds: jumped)) }
    return warnings
  }

  /// Rounds whose time is more than ten robust standard deviations from the median, hyperfine's limit: one standard
  /// deviation of normal scatter is 1.4826 median deviations.
  private static func outlyingRounds(of runs: [RunMeasurement], times: SampleSummary) -> [Int] {
    // Two runs have no majority to lie away from.
    guard times.count >= fewestRuns else { return [] }
    // Equal times would make the next nanosecond an outlier; half a percent is the clock and the kernel.
    let scatter = max(times.medianDeviation, times.median * 0.005)
    let limit = scatter * (10 * 1.4826)
    return runs.filter { $0.wall > times.median + limit || $0.wall < times.median - limit }.map(\.round)
  }

  // A clock that is kept right by a server moves by less.
  private static let largestJump = Duration.milliseconds(200)
  private static let fewestRuns = 3
  private static let widestSpread = 0.10
  // As hyperfine: below it the start of a process and the clock are part of what is measured.
  private static let shortestRun = Duration.milliseconds(5)
}
