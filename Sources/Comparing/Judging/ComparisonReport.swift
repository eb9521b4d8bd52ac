package import DownloadModel
import TerminalProgress

/// What a comparison found; the front door makes the words of it.
package struct ComparisonReport: Sendable, Equatable {
  /// A mode each, sequential first, then by their names in the order of `DownloadMode.allCases`, then by width.
  package let results: [ModeResult]
  /// nil with fewer than two modes.
  package let conclusion: Conclusion?
  /// Least and most bytes that a run moved over the network, when they differ by more than a hundredth: a cache helped
  /// one, or another fetched something twice, and the times are not of equal work.
  package let unequalBytes: ClosedRange<Int64>?
  /// Files that failed, and are no part of any of these runs.
  package let leftOut: [DownloadError]

  /// - Parameter measurements: in any order.
  package init(measurements: [RunMeasurement], leftOut: [DownloadError] = []) {
    self.leftOut = leftOut
    let runs = Dictionary(grouping: measurements.sorted { $0.round < $1.round }, by: \.mode)
    results = runs.keys.sorted().compactMap { ModeResult(mode: $0, runs: runs[$0] ?? []) }
    conclusion = Conclusion(results)
    let bytes = measurements.map(\.bytes)
    let least = bytes.min() ?? 0
    let most = bytes.max() ?? 0
    // Below a hundredth it is what the connections of a split file read too much.
    unequalBytes = most - least > least / 100 ? least...most : nil
  }

  package func result(of mode: ComparedMode) -> ModeResult? { results.first { $0.mode == mode } }

  /// How many times as fast `mode` is as `reference`; nil when either was not measured.
  package func speed(of mode: ComparedMode, against reference: ComparedMode) -> RelativeSpeed? {
    guard let own = result(of: mode), let other = result(of: reference) else { return nil }
    return RelativeSpeed(of: own, against: other)
  }
}

package struct ModeResult: Sendable, Equatable {
  package let mode: ComparedMode
  /// In the order of their rounds.
  package let runs: [RunMeasurement]
  package let times: SampleSummary
  package let warnings: [MeasurementWarning]

  /// - Parameter runs: all of `mode`; nil comes of none.
  package init?(mode: ComparedMode, runs: [RunMeasurement]) {
    guard let times = SampleSummary(runs.map(\.wall)) else { return nil }
    self.mode = mode
    self.runs = runs
    self.times = times
    warnings = MeasurementWarning.all(for: runs, times: times)
  }

  /// The run whose time is nearest to the median, the earlier of two.
  package var medianRun: RunMeasurement {
    // There is at least one run.
    runs.min { $0.wall.distance(to: times.median) < $1.wall.distance(to: times.median) } ?? runs[0]
  }

  /// Bytes a second over the network at the median time; nil when that is no time at all.
  package var bytesPerSecond: Double? {
    guard times.median > .zero else { return nil }
    let bytes = runs.reduce(0.0) { $0 + Double($1.bytes) } / Double(runs.count)
    return bytes / (times.median / .seconds(1))
  }
}

/// One run of a mode.
package struct RunMeasurement: Sendable, Equatable {
  package let mode: ComparedMode
  package let round: Int
  package let wall: Duration
  package let files: Int
  /// Body bytes that came over the network.
  package let bytes: Int64
  package let details: RunDetails

  package init(
    mode: ComparedMode, round: Int, wall: Duration, files: Int, bytes: Int64, details: RunDetails = RunDetails()
  ) {
    self.mode = mode
    self.round = round
    self.wall = wall
    self.files = files
    self.bytes = bytes
    self.details = details
  }
}

/// "parallel is 5.2 ± 0.3 times as fast as sequential", as data.
package struct Conclusion: Sendable, Equatable {
  /// The mode with the smallest median time; where other medians tie with it, the one with the smallest mean.
  package let winner: ComparedMode
  /// What it is compared with: sequential, or, when that won, the next fastest.
  package let reference: ComparedMode
  /// Modes that are as fast as the winner, as far as these runs can tell.
  package let equals: [ComparedMode]
  package let speed: RelativeSpeed
  package let certainty: Certainty

  package enum Certainty: String, Sendable {
    /// The factor is above 1 by more than two standard deviations, which chance alone hardly does, or all runs of the
    /// one were before all of the other.
    case clear
    /// A factor below 1.05, which is shown as 1.0: there is no winner, however sure the difference is.
    case tie
    /// The difference is no larger than the scatter of the runs: there is no winner.
    case withinScatter = "within-scatter"
    /// A mode ran only once, so nothing is known of its scatter.
    case unknown
    /// The winner took less than twenty milliseconds: nothing can be said of such times.
    case tooShort = "too-short"

    /// Below this factor two times are called equal.
    package static let leastFactor = 1.05

    var hasNoWinner: Bool { self != .clear && self != .unknown }

    init(_ speed: RelativeSpeed, _ fast: SampleSummary, against slow: SampleSummary) {
      // However much the runs scatter, there is a winner if its slowest was well before the other's fastest, or all but
      // its odd ones half as fast again.
      let areApart = slow.minimum > min(fast.maximum * Self.leastFactor, fast.usualMaximum * 1.5)
      if speed.factor < Self.leastFactor {
        self = .tie
      } else if let deviation = speed.deviation, speed.factor - 2 * deviation <= 1, !areApart {
        self = .withinScatter
      } else {
        self = speed.deviation == nil ? .unknown : .clear
      }
    }
  }

  /// nil with fewer than two modes, or with times of zero.
  init?(_ results: [ModeResult]) {
    func certainty(of fast: ModeResult, _ slow: ModeResult) -> Certainty? {
      RelativeSpeed(of: fast, against: slow).map { Certainty($0, fast.times, against: slow.times) }
    }
    let ranked = results.sorted { $0.times.median < $1.times.median }
    guard ranked.count > 1, let first = ranked.first else { return nil }
    let best = ranked.filter { certainty(of: first, $0) == .tie }.min { $0.times.mean < $1.times.mean } ?? first
    let others = ranked.filter { $0.mode != best.mode }
    guard let reference = others.first(where: { $0.mode == .sequential }) ?? others.first,
      let speed = RelativeSpeed(of: best, against: reference)
    else { return nil }
    winner = best.mode
    self.reference = reference.mode
    self.speed = speed
    let isShort = first.times.median < MeasurementWarning.shortestRun
    self.certainty = isShort ? .tooShort : Certainty(speed, best.times, against: reference.times)
    equals = others.filter { $0.mode != reference.mode && certainty(of: best, $0)?.hasNoWinner == true }.map(\.mode)
  }
}

/// How many times as fast one thing is as another.
package struct RelativeSpeed: Sendable, Equatable {
  /// Ratio of the median times: above 1 is faster.
  package let factor: Double
  /// One standard deviation of the ratios of the rounds; nil with fewer than two.
  package let deviation: Double?

  /// `5.2 ± 0.3`, or `5.2` of one run; with two decimals where one would say little: `0.48 ± 0.02`.
  package var text: String {
    let parts = factor < 0.95 || deviation.map { $0 < 0.05 } == true ? 100 : 10
    return Quantity.decimal(factor, parts) + (deviation.map { " ± \(Quantity.decimal(max($0, 0.01), parts))" } ?? "")
  }
}

extension RelativeSpeed {
  /// No odd run moves the medians. The scatter is that of the rounds, since a network that gets faster is as fast for
  /// both runs of a round. nil when a median is no time at all.
  init?(of own: ModeResult, against other: ModeResult) {
    guard own.times.median > .zero, other.times.median > .zero else { return nil }
    factor = other.times.median / own.times.median
    let rounds = Dictionary(own.runs.map { ($0.round, $0.wall) }) { first, _ in first }
    let ratios = other.runs.compactMap { run in
      rounds[run.round].flatMap { $0 > .zero ? Duration.seconds(run.wall / $0) : nil }
    }
    deviation = SampleSummary(ratios)?.standardDeviation.map { $0 / .seconds(1) }
  }
}

/// What the times of one mode say.
package struct SampleSummary: Sendable, Equatable {
  package let count: Int
  package let minimum: Duration
  package let maximum: Duration
  /// The slowest but for odd ones: one run in four, and one of three. Of fewer, all count.
  let usualMaximum: Duration
  /// The middle time, or the mean of the two middle ones.
  package let median: Duration
  package let mean: Duration
  /// Of the sample (divided by n − 1); nil for a single run.
  package let standardDeviation: Duration?

  /// - Parameter samples: in any order; nil comes of none.
  package init?(_ samples: [Duration]) {
    let sorted = samples.sorted()
    guard let first = sorted.first, let last = sorted.last else { return nil }
    let median = (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
    let mean = sorted.reduce(.zero, +) / sorted.count
    count = sorted.count
    minimum = first
    maximum = last
    self.median = median
    self.mean = mean
    usualMaximum = count < 3 ? last : sorted[count - 1 - max(1, count / 4)]
    let distances = sorted.map { ($0 - mean) / .seconds(1) }
    let squares = distances.reduce(0) { $0 + $1 * $1 }
    standardDeviation = count > 1 ? .seconds((squares / Double(count - 1)).squareRoot()) : nil
  }

  /// Half the way from the fastest to the slowest run, as a part of the median: 0.1 is ±10 %.
  package var spread: Double { median > .zero ? (maximum - minimum) / 2 / median : 0 }

  /// `± 4 %`; nil for a single run.
  package var spreadText: String? { count > 1 ? "± \(Int(min(spread * 100, 1e6).rounded())) %" : nil }

  /// More, and a mode's runs are not alike.
  package var isUneven: Bool { spread > 0.10 }
}

extension Duration {
  func distance(to other: Duration) -> Duration { self < other ? other - self : self - other }
}

/// A reason to trust the numbers of a mode less.
package enum MeasurementWarning: Sendable, Equatable {
  /// Fewer than three runs: no scatter to speak of.
  case fewRuns(Int)
  /// The spread, as a part of the median, is above a tenth. With the run that lies farthest from the median.
  case uneven(SampleSummary, round: Int)
  /// The median is under twenty milliseconds: starting up weighs more than downloading.
  case tooShort(Duration)
  /// A run spent more than a twentieth of its time waiting for a host that refused all requests (429, 503).
  case waited(Duration, round: Int)

  static func all(for runs: [RunMeasurement], times: SampleSummary) -> [MeasurementWarning] {
    let isShort = times.median < shortestRun
    func distance(_ run: RunMeasurement) -> Duration { run.wall.distance(to: times.median) }
    let odd = runs.max { (distance($0), $0.wall) < (distance($1), $1.wall) }
    return [
      times.count < 3 ? .fewRuns(times.count) : nil,
      isShort ? .tooShort(times.median) : nil,
      times.isUneven && !isShort ? odd.map { .uneven(times, round: $0.round) } : nil,
      runs.max { $0.details.waited < $1.details.waited }.flatMap { run in
        run.details.waited * 20 > run.wall ? .waited(run.details.waited, round: run.round) : nil
      },
    ].compactMap(\.self)
  }

  /// Below it connecting, threads and the clock are a good part of what is measured.
  static let shortestRun = Duration.milliseconds(20)
}

/// Why the modes came out as they did, as far as their runs show it.
package enum Explanation: Sendable, Equatable {
  /// One after the other, this part of the files' time was waiting, and the rest was receiving at the rate of one
  /// connection. Side by side, files wait together, and each connection brings its own.
  case sideBySide(waiting: Double, bytesPerConnection: Double)
  /// More files at a time bring no more bytes: the line, or the server, gives so many a second.
  case sharedLine(bytesPerSecond: Double)
  /// More files at a time wait longer for their answers: the server answers about so many at a time.
  case busyServer(answers: Int)
  /// Side by side, a file waits so much longer for its connection, on average: the server takes few at a time.
  case slowConnecting(perFile: Duration)
  /// A host was found to take no more connections at a time.
  case hostLimit(host: String, connections: Int)

  /// - Returns: what gains, then what limits; empty where the runs do not show it.
  package static func all(_ report: ComparisonReport) -> [Explanation] {
    guard let conclusion = report.conclusion, let narrow = report.result(of: .sequential),
      let wide = report.results.filter({ $0.mode != .sequential }).min(by: { $0.times.median < $1.times.median }),
      let one = Facts(narrow), let many = Facts(wide)
    else { return [] }
    var all: [Explanation] = []
    if !conclusion.certainty.hasNoWinner, conclusion.winner != .sequential {
      all.append(.sideBySide(waiting: one.waitingShare, bytesPerConnection: one.bytesPerConnection))
    }
    let limits = wide.runs.flatMap(\.details.hostLimits).filter { $0.value < many.mostAtOnce }
    if let limit = limits.min(by: { ($0.value, $0.key) < ($1.value, $1.key) }) {
      all.append(.hostLimit(host: limit.key, connections: limit.value))
    } else if let limit = limit(one, many, wide) {
      all.append(limit)
    }
    return all
  }

  /// What keeps many from being as many times as fast as one.
  private static func limit(_ one: Facts, _ many: Facts, _ wide: ModeResult) -> Explanation? {
    let gain = one.wall / many.wall
    guard many.mostAtOnce > 1 else { return nil }
    // Seventeen files, sixteen at a time, take twice as long as one.
    let rounds = (one.files + many.mostAtOnce - 1) / many.mostAtOnce
    guard gain < 0.6 * Double(one.files) / Double(rounds) else { return nil }
    let connecting = many.excess(over: one, \.connecting)
    let waiting = many.excess(over: one, \.waiting)
    let receiving = many.receiving - one.receiving
    guard max(connecting, waiting, receiving) > one.perFile * 0.5 else { return nil }
    if connecting > max(waiting, receiving) { return .slowConnecting(perFile: connecting) }
    if waiting > receiving { return .busyServer(answers: max(1, Int(gain.rounded()))) }
    return receiving > waiting ? wide.bytesPerSecond.map { .sharedLine(bytesPerSecond: $0) } : nil
  }

  private struct Facts {
    let wall: Duration
    let files: Int
    let mostAtOnce: Int
    /// Of a file, on average.
    let (receiving, perFile): (Duration, Duration)
    /// By whether a connection was made for them.
    private let transfers: [Bool: [TransferTimes]]
    let waitingShare: Double
    let bytesPerConnection: Double

    init?(_ result: ModeResult) {
      let run = result.medianRun
      let timelines = FileTimeline.all(run.details)
      guard !timelines.isEmpty, run.wall > .zero else { return nil }
      let shares = TimeShares(timelines)
      wall = run.wall
      files = timelines.count
      mostAtOnce = run.details.mostAtOnce
      receiving = shares[.receiving] / files
      perFile = shares.ofFiles / files
      let waiting = shares[.lookingUp] + shares[.connecting] + shares[.securing] + shares[.waiting]
      waitingShare = perFile > .zero ? waiting / files / perFile : 0
      let whole = run.details.transfers.map(\.times).filter { !$0.isSegment }
      transfers = Dictionary(grouping: whole) { $0.connected != nil }
      let seconds = shares[.receiving] / .seconds(1)
      bytesPerConnection = seconds > 0 ? Double(timelines.reduce(0) { $0 + $1.bytes }) / seconds : 0
    }

    /// How much longer a file takes than if each answer took as long as in the other run. First answers of connections
    /// are compared with first answers: they take longer on any server, and many connections have many of them.
    func excess(over other: Facts, _ time: (TransferTimes) -> Duration) -> Duration {
      transfers.reduce(.zero) { sum, group in
        let others = other.transfers[group.key] ?? []
        let usual = others.map(time).reduce(.zero, +) / max(1, others.count)
        return group.value.reduce(sum) { $0 + time($1) - usual }
      } / files
    }
  }
}

extension TransferTimes {
  fileprivate var connecting: Duration { secured ?? connected ?? .zero }
  fileprivate var waiting: Duration { max(.zero, (firstByte ?? end) - connecting) }
}
