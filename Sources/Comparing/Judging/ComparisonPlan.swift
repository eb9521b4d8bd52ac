import DownloadModel

/// The order of runs: modes are interleaved, and the order rotates by one each round, so that a network that gets
/// faster favours no mode. After as many rounds as there are modes, the order is shuffled, so that no mode always
/// follows the same other.
package struct ComparisonPlan: Sendable, Equatable {
  package struct Step: Sendable, Hashable {
    package let mode: ComparedMode
    /// From 1, counted separately for warm-up rounds and the others.
    package let round: Int
    /// Its time is not counted, but its files must be correct.
    package var isWarmUp = false
  }

  package let modes: [ComparedMode]
  package let steps: [Step]

  /// - Parameter seed: of the shuffle; `nil` for the order of `modes`.
  package init(modes: [ComparedMode], runs: Int, warmUpRounds: Int = 0, seed: UInt64? = nil) {
    let modes = modes.distinct
    var draw = seed.map(SeededGenerator.init)
    self.modes = modes
    steps = [(rounds: warmUpRounds, isWarmUp: true), (runs, false)].flatMap { part in
      var order = modes
      return (0..<part.rounds).flatMap { round in
        if round.isMultiple(of: modes.count), var some = draw {
          order.shuffle(using: &some)
          draw = some
        }
        return order.indices.map { place in
          Step(mode: order[(place + round) % order.count], round: round + 1, isWarmUp: part.isWarmUp)
        }
      }
    }
  }
}

extension [ComparedMode] {
  var distinct: [ComparedMode] {
    reduce(into: []) { all, mode in if !all.contains(mode) { all.append(mode) } }
  }
}
