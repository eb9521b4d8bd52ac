public import DownloadModel

/// Which mode runs when.
///
/// The modes are interleaved and the order moves on by one each round, so that a network that gets faster or
/// a cache that gets warmer over time favours no mode, and none always goes first.
public struct ComparisonPlan: Sendable, Equatable {
  /// One run of one mode.
  public struct Step: Sendable, Hashable {
    public let mode: DownloadMode
    /// From 1. Warm-up rounds are numbered by themselves, from 1 as well.
    public let round: Int
    /// Its time is not counted; its files must be right all the same.
    public let isWarmUp: Bool

    public init(mode: DownloadMode, round: Int, isWarmUp: Bool = false) {
      self.mode = mode
      self.round = round
      self.isWarmUp = isWarmUp
    }
  }

  public let modes: [DownloadMode]
  public let steps: [Step]

  /// - Parameters:
  ///   - modes: named twice counts once; the first is the first of the first round.
  ///   - runs: how often each mode is measured; less than 1 counts as 1.
  ///   - warmUpRounds: rounds before that, which are not measured.
  public init(modes: [DownloadMode], runs: Int, warmUpRounds: Int = 0) {
    var distinct: [DownloadMode] = []
    for mode in modes where !distinct.contains(mode) { distinct.append(mode) }
    self.modes = distinct
    steps =
      Self.rounds(max(0, warmUpRounds), of: distinct, isWarmUp: true)
      + Self.rounds(max(1, runs), of: distinct, isWarmUp: false)
  }

  private static func rounds(_ count: Int, of modes: [DownloadMode], isWarmUp: Bool) -> [Step] {
    (0..<count).flatMap { round in
      modes.indices.map { place in
        Step(mode: modes[(place + round) % modes.count], round: round + 1, isWarmUp: isWarmUp)
      }
    }
  }
}
