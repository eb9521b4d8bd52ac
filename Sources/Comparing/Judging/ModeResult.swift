package struct ModeResult: Sendable, Equatable {
  package let mode: ComparedMode
  /// In the order of their rounds.
  package let runs: [RunMeasurement]
  package let times: SampleSummary
  package let warnings: [Warning]

  /// - Parameter runs: all of `mode`; empty gives `nil`.
  package init?(mode: ComparedMode, runs: [RunMeasurement]) {
    guard let times = SampleSummary(runs.map(\.wall)) else { return nil }
    self.mode = mode
    self.runs = runs
    self.times = times
    warnings = Warning.all(for: runs, times: times)
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

extension ModeResult {
  /// A reason to trust the numbers of a mode less.
  package enum Warning: Sendable, Equatable {
    /// Fewer than three runs, too few to measure scatter.
    case fewRuns(Int)
    /// The spread, as a fraction of the median, is above a tenth. With the run that lies farthest from the median.
    case uneven(SampleSummary, round: Int)
    /// The median is under twenty milliseconds: starting up takes longer than downloading.
    case tooShort(Duration)
    /// A run spent more than a twentieth of its time waiting for a host that refused all requests (429, 503).
    case waited(Duration, round: Int)

    static func all(for runs: [RunMeasurement], times: SampleSummary) -> [Warning] {
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

    /// In shorter runs, connecting, threads and the clock are a large part of the measured time.
    static let shortestRun = Duration.milliseconds(20)
  }
}
