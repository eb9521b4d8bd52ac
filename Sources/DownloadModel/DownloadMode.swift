/// The ways to run a list: three strategies, each with a file in DownloadScheduling, and the last of them at a width
/// that it finds itself.
public enum DownloadMode: String, Sendable, CaseIterable, Codable {
  case sequential
  case asyncLet = "async-let"
  case parallel
  /// A task group, as wide as the answers to this list speak for.
  case auto

  /// The three that are one strategy each, to be compared.
  public static let strategies = [sequential, asyncLet, parallel]
}

/// In which order requests go, beside those that go first (`--order`).
public enum RequestOrder: String, Sendable, CaseIterable {
  case list
  /// The smallest first; those of unknown size last.
  case small
  /// The largest first; those of unknown size last.
  case large
  case random
}

/// How many files went at a time, and why.
public struct RunWidth: Sendable, Equatable {
  /// The most that were in flight at a time.
  public var peak: Int
  /// Nil where the user gave the number.
  public var lesson: WidthLesson?

  public init(peak: Int, lesson: WidthLesson?) { (self.peak, self.lesson) = (peak, lesson) }
}

/// What a run found out about files at a time.
public enum WidthLesson: Sendable, Equatable {
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
  /// Transfers broke.
  case broke
}
