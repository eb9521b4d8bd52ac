import DownloadModel
import TerminalProgress

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
