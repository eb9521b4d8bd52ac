/// "parallel is 5.2 ± 0.3 times as fast as sequential", as data.
package struct Conclusion: Sendable, Equatable {
  /// The mode with the smallest median time; if other medians tie with it, the one of them with the smallest mean.
  package let winner: ComparedMode
  /// The mode it is compared with: sequential, or, if that won, the next fastest.
  package let reference: ComparedMode
  /// Modes that are as fast as the winner, as far as these runs show.
  package let equals: [ComparedMode]
  package let speed: RelativeSpeed
  package let certainty: Certainty

  package enum Certainty: String, Sendable {
    /// The factor is above 1 by more than two standard deviations, which is unlikely to be chance, or all runs of the
    /// one were faster than all of the other.
    case clear
    /// A factor below 1.05, which is shown as 1.0: no mode wins, even if the difference is certain.
    case tie
    /// The difference does not exceed the scatter of the runs: no mode wins.
    case withinScatter = "within-scatter"
    /// A mode ran only once, so its scatter is unknown.
    case unknown
    /// The winner took less than twenty milliseconds, too short for a conclusion.
    case tooShort = "too-short"

    /// Below this factor two times count as equal.
    package static let leastFactor = 1.05

    var hasNoWinner: Bool { self != .clear && self != .unknown }

    init(_ speed: RelativeSpeed, _ fast: SampleSummary, against slow: SampleSummary) {
      // Despite scatter, there is a winner if its slowest run was well before the other's fastest, or if the other's
      // fastest took half as long again as all but the winner's outliers.
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

  /// `nil` with fewer than two modes, or with times of zero.
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
    let isShort = first.times.median < ModeResult.Warning.shortestRun
    self.certainty = isShort ? .tooShort : Certainty(speed, best.times, against: reference.times)
    equals = others.filter { $0.mode != reference.mode && certainty(of: best, $0)?.hasNoWinner == true }.map(\.mode)
  }
}
