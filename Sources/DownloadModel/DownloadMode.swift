/// Three strategies to run a list, and the last of them at a width that it finds itself.
package enum DownloadMode: String, Sendable, CaseIterable, Codable {
  case sequential
  case asyncLet = "async-let"
  case parallel
  /// A task group, as wide as the answers to this list speak for.
  case auto

  package static let strategies = [sequential, asyncLet, parallel]

  /// The strategy that it runs: auto is the task group of parallel, at a width that it finds.
  package var kind: DownloadMode { self == .auto ? .parallel : self }
}

/// In which order requests go, beside those that go first (`--order`); those of unknown size go last.
package enum RequestOrder: String, Sendable, CaseIterable {
  case list
  case small
  case large
  case random
}

/// How many files went at a time, and why.
package struct RunWidth: Sendable, Equatable {
  package var peak: Int
  /// Nil where the user gave the number.
  package var lesson: WidthLesson?
  /// The most at a time; more than `peak` where files were split.
  package var connections: Int
  /// The longest time that the run waited for a host that refused all its requests (429, 503).
  package var waited = Duration.zero
  /// The time that all files together were in flight: one after the other, they take at most that long.
  package var work = Duration.zero

  package init(peak: Int, lesson: WidthLesson?, connections: Int? = nil) {
    self.peak = peak
    self.lesson = lesson
    self.connections = connections ?? peak
  }
}

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
