import TerminalProgress

/// How many times as fast one mode is as another.
package struct RelativeSpeed: Sendable, Equatable {
  /// Ratio of the median times: above 1 is faster.
  package let factor: Double
  /// One standard deviation of the ratios of the rounds; `nil` with fewer than two.
  package let deviation: Double?

  /// `5.2 ± 0.3`, or `5.2` for one run; with two decimals if one would say little: `0.48 ± 0.02`.
  package var text: String {
    let parts = factor < 0.95 || deviation.map { $0 < 0.05 } == true ? 100 : 10
    return Quantity.decimal(factor, parts) + (deviation.map { " ± \(Quantity.decimal(max($0, 0.01), parts))" } ?? "")
  }
}

extension RelativeSpeed {
  /// Outliers do not change the medians. The scatter is computed for each round, because a network that gets faster is
  /// equally fast for both runs of a round. `nil` if a median is zero.
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
