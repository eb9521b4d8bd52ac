import DownloadModel
import TerminalProgress

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
