package enum WidthLesson: Sendable, Equatable {
  /// Nothing: there were too few files, or they were over too soon.
  case nothing
  /// More at a time would have gained nothing in the time that was left.
  case littleWasLeft
  /// As many at a time as were allowed brought more than half as many.
  case allowed(gain: Double)
  /// So many brought no more than the limit did.
  case noGain(from: Int, limit: Int, gain: Double)
  /// The last doubling brought so much more, and the run ended before the next.
  case gained(Double)
  /// Answers took so long that as many as are allowed were asked for before the first file had ended.
  case slowAnswers
  case broke
}
