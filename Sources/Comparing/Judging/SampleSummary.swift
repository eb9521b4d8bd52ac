/// What the times of one mode say.
public struct SampleSummary: Sendable, Equatable {
  public let count: Int
  public let minimum: Duration
  public let maximum: Duration
  /// The middle time, or the mean of the two middle ones.
  public let median: Duration
  public let mean: Duration
  /// Of the sample (divided by n − 1); nil for a single run.
  public let standardDeviation: Duration?
  /// Median of the distances from the median: a scatter that one odd run cannot stretch.
  public let medianDeviation: Duration

  /// - Parameter samples: in any order; nil comes of none.
  public init?(_ samples: [Duration]) {
    let sorted = samples.sorted()
    guard let first = sorted.first, let last = sorted.last else { return nil }
    let median = Self.median(sorted: sorted)
    let mean = sorted.reduce(.zero, +) / sorted.count
    (count, minimum, maximum, self.median, self.mean) = (sorted.count, first, last, median, mean)
    medianDeviation = Self.median(sorted: sorted.map { $0.distance(to: median) }.sorted())
    let distances = sorted.map { ($0 - mean) / .seconds(1) }
    let squares = distances.reduce(0) { $0 + $1 * $1 }
    standardDeviation = count > 1 ? .seconds((squares / Double(count - 1)).squareRoot()) : nil
  }

  /// Half the way from the fastest to the slowest run, as a part of the median: 0.1 is ±10 %.
  public var spread: Double { median > .zero ? (maximum - minimum) / 2 / median : 0 }

  private static func median(sorted: [Duration]) -> Duration {
    let middle = sorted.count / 2
    return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
  }
}

extension Duration {
  func distance(to other: Duration) -> Duration { self < other ? other - self : self - other }
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
    let outliers = outlyingRounds(of: runs, times: times)
    let jumped = runs.filter { $0.details.clockJump > largestJump }.map(\.round)
    return [
      times.count < fewestRuns ? .fewRuns(times.count) : nil,
      times.spread > widestSpread ? .wideSpread(times.spread) : nil,
      times.median < shortestRun ? .tooShort(times.median) : nil,
      outliers.isEmpty ? nil : .outliers(rounds: outliers), jumped.isEmpty ? nil : .clockJumped(rounds: jumped),
    ].compactMap(\.self)
  }

  /// Rounds whose time is more than ten robust standard deviations from the median, which is hyperfine's limit; one is
  /// 1.4826 median deviations.
  private static func outlyingRounds(of runs: [RunMeasurement], times: SampleSummary) -> [Int] {
    // Two runs have no majority to lie away from.
    guard times.count >= fewestRuns else { return [] }
    // Equal times would make the next nanosecond an outlier; half a percent is the clock and the kernel.
    let scatter = max(times.medianDeviation, times.median * 0.005)
    let limit = scatter * (10 * 1.4826)
    return runs.filter { $0.wall.distance(to: times.median) > limit }.map(\.round)
  }

  // A clock that is kept right by a server moves by less.
  private static let largestJump = Duration.milliseconds(200)
  private static let fewestRuns = 3
  private static let widestSpread = 0.10
  // As hyperfine: below it the start of a process and the clock are part of what is measured.
  private static let shortestRun = Duration.milliseconds(5)
}
