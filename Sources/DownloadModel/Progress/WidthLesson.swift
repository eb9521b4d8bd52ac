package enum WidthLesson: Sendable, Equatable {
  /// No result: there were too few files, or they finished too soon.
  case nothing
  /// More at a time would have gained nothing in the time that was left.
  case littleWasLeft
  /// The highest allowed width was better than half of it.
  case allowed(gain: Double)
  /// The width `from` was no better than `limit`.
  case noGain(from: Int, limit: Int, gain: Double)
  /// The last doubling gained this factor, and the run ended before the next.
  case gained(Double)
  /// Answers took so long that the highest allowed number was requested before the first file had ended.
  case slowAnswers
  case broke
}
