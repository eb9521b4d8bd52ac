/// What the times of one mode say.
public struct SampleSummary: Sendable, Equatable {
  public let count: Int
  public let minimum: Duration
  public let maximum: Duration
  /// The slowest but for odd ones: one run in four, and one of three. Of fewer, all count.
  let usualMaximum: Duration
  /// The middle time, or the mean of the two middle ones.
  public let median: Duration
  public let mean: Duration
  /// Of the sample (divided by n − 1); nil for a single run.
  public let standardDeviation: Duration?

  /// - Parameter samples: in any order; nil comes of none.
  public init?(_ samples: [Duration]) {
    let sorted = samples.sorted()
    guard let first = sorted.first, let last = sorted.last else { return nil }
    let median = (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
    let mean = sorted.reduce(.zero, +) / sorted.count
    (count, minimum, maximum, self.median, self.mean) = (sorted.count, first, last, median, mean)
    usualMaximum = count < 3 ? last : sorted[count - 1 - max(1, count / 4)]
    let distances = sorted.map { ($0 - mean) / .seconds(1) }
    let squares = distances.reduce(0) { $0 + $1 * $1 }
    standardDeviation = count > 1 ? .seconds((squares / Double(count - 1)).squareRoot()) : nil
  }

  /// Half the way from the fastest to the slowest run, as a part of the median: 0.1 is ±10 %.
  public var spread: Double { median > .zero ? (maximum - minimum) / 2 / median : 0 }

  /// `± 4 %`; nil for a single run.
  public var spreadText: String? { count > 1 ? "± \(Int(min(spread * 100, 1e6).rounded())) %" : nil }

  /// More, and a mode's runs are not alike.
  public var isUneven: Bool { spread > 0.10 }
}

extension Duration {
  func distance(to other: Duration) -> Duration { self < other ? other - self : self - other }
}

/// A reason to trust the numbers of a mode less.
public enum MeasurementWarning: Sendable, Equatable {
  /// Fewer than three runs: no scatter to speak of.
  case fewRuns(Int)
  /// The spread, as a part of the median, is above a tenth. With the run that lies farthest from the median.
  case uneven(SampleSummary, round: Int)
  /// The median is under twenty milliseconds: starting up weighs more than downloading.
  case tooShort(Duration)

  static func all(for runs: [RunMeasurement], times: SampleSummary) -> [MeasurementWarning] {
    let isShort = times.median < shortestRun
    func distance(_ run: RunMeasurement) -> Duration { run.wall.distance(to: times.median) }
    let odd = runs.max { (distance($0), $0.wall) < (distance($1), $1.wall) }
    return [
      times.count < 3 ? .fewRuns(times.count) : nil,
      isShort ? .tooShort(times.median) : nil,
      times.isUneven && !isShort ? odd.map { .uneven(times, round: $0.round) } : nil,
    ].compactMap(\.self)
  }

  /// Below it connecting, threads and the clock are a good part of what is measured.
  static let shortestRun = Duration.milliseconds(20)
}
