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
