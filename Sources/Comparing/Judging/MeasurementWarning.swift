/// A reason to trust the numbers of a mode less.
package enum MeasurementWarning: Sendable, Equatable {
  /// Fewer than three runs, too few to measure scatter.
  case fewRuns(Int)
  /// The spread, as a fraction of the median, is above a tenth. With the run that lies farthest from the median.
  case uneven(SampleSummary, round: Int)
  /// The median is under twenty milliseconds: starting up takes longer than downloading.
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

  /// In shorter runs, connecting, threads and the clock are a large part of the measured time.
  static let shortestRun = Duration.milliseconds(20)
}
