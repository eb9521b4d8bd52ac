public import DownloadModel

/// What dlm does about a failure that may pass, in the same words wherever it is told.
public enum NextWords {
  /// A sentence: `the server answered 503 Service Unavailable; again in 4.0 s, 2 of 5`.
  public static func text(_ cause: String, _ next: NextAttempt) -> String {
    cause.isEmpty ? text(next) : "\(cause); \(text(next))"
  }

  /// `again in 4.0 s, 2 of 5`: the second of at most five retries.
  static func text(_ next: NextAttempt) -> String {
    let when = next.delay > .zero ? "again in \(Quantity.duration(next.delay))" : "again at once"
    return next.retries.map { "\(when), \(next.retry) of \($0)" } ?? when
  }

  /// The same in a column, while the time runs down: `again in 0:04 (2/5)`, or `again 0:04` where there is no room.
  static func countdown(_ next: NextAttempt, _ left: Duration, width: Int) -> String {
    let time = Quantity.countdown(left)
    let forms = [
      next.retries.map { "again in \(time) (\(next.retry)/\($0))" }, "again in \(time)", "again \(time)",
    ]
    return forms.compactMap(\.self).first { CellWidth.of($0) <= width } ?? time
  }
}
