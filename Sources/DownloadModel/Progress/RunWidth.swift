/// How many files ran at a time, and why.
package struct RunWidth: Sendable, Equatable {
  package var peak: Int
  /// `nil` if the user set the number.
  package var lesson: WidthLesson?
  /// The most connections at a time; more than `peak` if files were split.
  package var connections: Int
  /// The longest time that the run waited for a host that refused all its requests (429, 503).
  package var waited = Duration.zero
  /// The total time of all files in flight: an upper bound for a sequential run.
  package var work = Duration.zero

  package init(peak: Int, lesson: WidthLesson?, connections: Int = 0) {
    self.peak = peak
    self.lesson = lesson
    self.connections = connections
  }
}
