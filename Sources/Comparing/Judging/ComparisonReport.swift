public import DownloadModel

/// What a comparison found; the front door makes the words of it.
public struct ComparisonReport: Sendable, Equatable {
  /// A mode each, sequential first, then by their names in the order of `DownloadMode.allCases`, then by width.
  public let results: [ModeResult]
  /// nil with fewer than two modes.
  public let conclusion: Conclusion?
  /// Least and most bytes that a run moved over the network, when they differ by more than a hundredth: a cache helped
  /// one, or another fetched something twice, and the times are not of equal work.
  public let unequalBytes: ClosedRange<Int64>?
  /// Files that failed, and are no part of any of these runs.
  public let leftOut: [DownloadError]

  /// - Parameter measurements: in any order.
  public init(measurements: [RunMeasurement], leftOut: [DownloadError] = []) {
    self.leftOut = leftOut
    let runs = Dictionary(grouping: measurements.sorted { $0.round < $1.round }, by: \.mode)
    results = runs.keys.sorted().compactMap { ModeResult(mode: $0, runs: runs[$0] ?? []) }
    conclusion = Conclusion(results)
    let bytes = measurements.map(\.bytes)
    let (least, most) = (bytes.min() ?? 0, bytes.max() ?? 0)
    // Below a hundredth it is what the connections of a split file read too much.
    unequalBytes = most - least > least / 100 ? least...most : nil
  }

  public func result(of mode: ComparedMode) -> ModeResult? { results.first { $0.mode == mode } }

  /// How many times as fast `mode` is as `reference`; nil when either was not measured.
  public func speed(of mode: ComparedMode, against reference: ComparedMode) -> RelativeSpeed? {
    guard let own = result(of: mode), let other = result(of: reference) else { return nil }
    return RelativeSpeed(of: own.times, against: other.times)
  }
}

public struct ModeResult: Sendable, Equatable {
  public let mode: ComparedMode
  /// In the order of their rounds.
  public let runs: [RunMeasurement]
  public let times: SampleSummary
  public let warnings: [MeasurementWarning]

  /// - Parameter runs: all of `mode`; nil comes of none.
  public init?(mode: ComparedMode, runs: [RunMeasurement]) {
    guard let times = SampleSummary(runs.map(\.wall)) else { return nil }
    (self.mode, self.runs, self.times) = (mode, runs, times)
    warnings = MeasurementWarning.all(for: runs, times: times)
  }

  /// The run whose time is nearest to the median, the earlier of two.
  public var medianRun: RunMeasurement {
    // There is at least one run.
    runs.min { $0.wall.distance(to: times.median) < $1.wall.distance(to: times.median) } ?? runs[0]
  }

  /// Bytes a second over the network at the median time; nil when that is no time at all.
  public var bytesPerSecond: Double? {
    guard times.median > .zero else { return nil }
    let bytes = runs.reduce(0.0) { $0 + Double($1.bytes) } / Double(runs.count)
    return bytes / (times.median / .seconds(1))
  }
}

/// One valid, counted run of a mode.
public struct RunMeasurement: Sendable, Equatable {
  public let mode: ComparedMode
  public let round: Int
  public let wall: Duration
  public let files: Int
  /// Body bytes that came over the network.
  public let bytes: Int64
  public let details: RunDetails

  public init(
    mode: ComparedMode, round: Int, wall: Duration, files: Int, bytes: Int64, details: RunDetails = RunDetails()
  ) {
    (self.mode, self.round, self.wall) = (mode, round, wall)
    (self.files, self.bytes, self.details) = (files, bytes, details)
  }
}

/// "parallel is 5.2 ± 0.3 times as fast as sequential", as data.
public struct Conclusion: Sendable, Equatable {
  /// The mode with the smallest median time.
  public let winner: ComparedMode
  /// What it is compared with: sequential, or, when that won, the next fastest.
  public let reference: ComparedMode
  /// Modes that are as fast as the winner, as far as these runs can tell.
  public let equals: [ComparedMode]
  public let speed: RelativeSpeed
  public let certainty: Certainty

  public enum Certainty: String, Sendable {
    /// The factor is above 1 by more than two standard deviations: chance alone hardly does that.
    case clear
    /// A factor below 1.05, which is shown as 1.0: there is no winner, however sure the difference is.
    case tie
    /// The difference is no larger than the scatter of the runs: there is no winner.
    case withinScatter = "within-scatter"
    /// A mode ran only once, so nothing is known of its scatter.
    case unknown

    /// Below this factor two times are called equal.
    public static let leastFactor = 1.05

    var isTie: Bool { self == .tie || self == .withinScatter }

    init(_ speed: RelativeSpeed, _ fast: SampleSummary, against slow: SampleSummary) {
      // However much the runs scatter, there is a winner if its slowest was well before the other's fastest.
      let areApart = slow.minimum > fast.maximum * Self.leastFactor
      // Medians rank, means give the factor: an odd run can set them at odds, and then nothing is clear.
      if let deviation = speed.deviation, speed.factor - 2 * deviation <= 1, !areApart {
        self = .withinScatter
      } else if speed.factor < Self.leastFactor {
        self = .tie
      } else {
        self = speed.deviation == nil ? .unknown : .clear
      }
    }
  }

  /// nil with fewer than two modes, or with times of zero.
  init?(_ results: [ModeResult]) {
    let ranked = results.sorted { $0.times.median < $1.times.median }
    guard ranked.count > 1, let best = ranked.first else { return nil }
    let others = ranked.dropFirst()
    guard let reference = others.first(where: { $0.mode == .sequential }) ?? others.first,
      let speed = RelativeSpeed(of: best.times, against: reference.times)
    else { return nil }
    (winner, self.reference, self.speed) = (best.mode, reference.mode, speed)
    certainty = Certainty(speed, best.times, against: reference.times)
    equals = others.filter { other in
      guard other.mode != reference.mode, let lead = RelativeSpeed(of: best.times, against: other.times)
      else { return false }
      return Certainty(lead, best.times, against: other.times).isTie
    }.map(\.mode)
  }
}

/// How many times as fast one thing is as another.
public struct RelativeSpeed: Sendable, Equatable {
  /// Ratio of the mean times: above 1 is faster.
  public let factor: Double
  /// One standard deviation of the factor; nil when one side ran only once.
  public let deviation: Double?
}

extension RelativeSpeed {
  /// As hyperfine does: r = μ₂/μ₁, and σ of r by propagation, r · √((σ₁/μ₁)² + (σ₂/μ₂)²), the runs of the two being
  /// independent. nil when a mean is no time at all.
  init?(of sample: SampleSummary, against reference: SampleSummary) {
    guard sample.mean > .zero, reference.mean > .zero else { return nil }
    factor = reference.mean / sample.mean
    if let own = sample.standardDeviation, let other = reference.standardDeviation {
      let (ownPart, otherPart) = (own / sample.mean, other / reference.mean)
      deviation = factor * (ownPart * ownPart + otherPart * otherPart).squareRoot()
    } else {
      deviation = nil
    }
  }
}
