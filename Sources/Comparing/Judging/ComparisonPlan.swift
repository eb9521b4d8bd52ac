package import DownloadModel

/// Which mode runs when: interleaved, the order moving on by one each round, so that a network that gets faster favours
/// none. After as many rounds as there are modes the order is drawn anew, so that none always follows the same other.
package struct ComparisonPlan: Sendable, Equatable {
  package struct Step: Sendable, Hashable {
    package let mode: ComparedMode
    /// From 1, among the warm-up rounds or among the others.
    package let round: Int
    /// Its time is not counted; its files must be right all the same.
    package let isWarmUp: Bool

    package init(mode: ComparedMode, round: Int, isWarmUp: Bool = false) {
      self.mode = mode
      self.round = round
      self.isWarmUp = isWarmUp
    }
  }

  package let modes: [ComparedMode]
  package let steps: [Step]

  /// - Parameter seed: of the order; nil for that of `modes`.
  package init(modes: [ComparedMode], runs: Int, warmUpRounds: Int = 0, seed: UInt64? = nil) {
    self.modes = modes.distinct
    var draw = seed.map(SeededGenerator.init)
    steps =
      Self.rounds(max(0, warmUpRounds), of: self.modes, isWarmUp: true, &draw)
      + Self.rounds(max(1, runs), of: self.modes, isWarmUp: false, &draw)
  }

  private static func rounds(
    _ count: Int, of modes: [ComparedMode], isWarmUp: Bool, _ draw: inout SeededGenerator?
  ) -> [Step] {
    var order = modes
    return (0..<count).flatMap { round in
      if round.isMultiple(of: max(1, modes.count)), var some = draw {
        order.shuffle(using: &some)
        draw = some
      }
      return order.indices.map { place in
        Step(mode: order[(place + round) % order.count], round: round + 1, isWarmUp: isWarmUp)
      }
    }
  }
}

/// What is measured side by side: a mode, and where several widths of it are asked for, one of those.
package struct ComparedMode: Sendable, Hashable, Comparable {
  package let mode: DownloadMode
  /// Files at a time; nil for the run's own setting, and for sequential, which has one.
  package let jobs: Int?

  package init(_ mode: DownloadMode, jobs: Int? = nil) {
    self.mode = mode
    self.jobs = mode == .sequential ? nil : jobs
  }

  package static let sequential = ComparedMode(.sequential)
  package static let asyncLet = ComparedMode(.asyncLet)
  package static let parallel = ComparedMode(.parallel)

  /// As its options are typed: `parallel`, `parallel -j 16`.
  package var name: String { jobs.map { "\(mode.rawValue) -j \($0)" } ?? mode.rawValue }

  /// Every mode at every width, sequential once; nil is a width that a run finds out. With one width no mode names it.
  package static func all(_ modes: [DownloadMode], widths: [Int?]) -> [ComparedMode] {
    let named = widths.count < 2 ? [nil] : widths
    return modes.flatMap { mode in named.map { ComparedMode(mode, jobs: $0) } }.distinct
  }

  /// As a report lists them: by mode, then by width, a run's own width last.
  package static func < (left: ComparedMode, right: ComparedMode) -> Bool {
    func rank(_ mode: ComparedMode) -> (Int, Int) {
      (DownloadMode.allCases.firstIndex(of: mode.mode) ?? 0, mode.jobs ?? .max)
    }
    return rank(left) < rank(right)
  }
}

extension [ComparedMode] {
  fileprivate var distinct: [ComparedMode] {
    reduce(into: []) { all, mode in if !all.contains(mode) { all.append(mode) } }
  }
}
