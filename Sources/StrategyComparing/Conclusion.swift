public import DownloadModel

/// "parallel is 5.2 ± 0.3 times as fast as sequential", as data.
public struct Conclusion: Sendable, Equatable {
  /// The mode with the smallest median time.
  public let winner: DownloadMode
  /// What it is compared with: sequential, or, when that won, the next fastest.
  public let reference: DownloadMode
  public let speed: RelativeSpeed
  public let certainty: Certainty

  public enum Certainty: Sendable, Equatable {
    /// The factor is above 1 by more than two standard deviations: chance alone hardly does that.
    case clear
    /// A factor below 1.05, which is 1.0 when it is said: nobody wins, however sure the difference is.
    case tie
    /// The difference is no larger than the scatter of the runs: there is no winner.
    case withinScatter
    /// A mode ran only once, so nothing is known of its scatter.
    case unknown
  }

  /// nil with fewer than two modes, or with times of zero.
  init?(_ results: [ModeResult]) {
    let ranked = results.sorted { $0.times.median < $1.times.median }
    guard ranked.count > 1, let best = ranked.first else { return nil }
    let others = ranked.dropFirst()
    guard let reference = others.first(where: { $0.mode == .sequential }) ?? others.first,
      let speed = RelativeSpeed(of: best.times, against: reference.times)
    else { return nil }
    winner = best.mode
    self.reference = reference.mode
    self.speed = speed
    certainty = Certainty(speed)
  }
}

extension Conclusion.Certainty {
  /// Below this factor two times are called equal.
  public static let leastFactor = 1.05

  init(_ speed: RelativeSpeed) {
    // Medians rank, means give the factor: an odd run can set them at odds, and then nothing is clear.
    if let deviation = speed.deviation, speed.factor - 2 * deviation <= 1 {
      self = .withinScatter
    } else if speed.factor < Self.leastFactor {
      self = .tie
    } else {
      self = speed.deviation == nil ? .unknown : .clear
    }
  }
}
