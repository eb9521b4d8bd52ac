package import DownloadModel

/// Messages about retries after temporary failures, the same everywhere.
package enum RetryMessages {
  /// A sentence: `503 Service Unavailable; again in 4.0 s, 2 of 5`.
  package static func text(_ cause: String, _ next: NextAttempt) -> String {
    if let source = next.source { return "\(cause); now from \(source.redacted)" }
    return (cause.isEmpty ? "" : "\(cause); ")
      + (next.delay > .zero ? "again in \(Quantity.duration(next.delay))" : "again at once")
      + (next.retries.map { ", \(next.retry) of \($0)" } ?? "")
  }

  static func text(_ reason: RestartReason) -> String {
    (reason == .notContinued ? "cannot be resumed" : "has changed on the server") + ": starting over"
  }

  /// The same in a column, as a countdown: `again in 0:04 (2/5)`, or `again 0:04` if there is no room.
  static func countdown(_ next: NextAttempt, _ left: Duration, width: Int) -> String {
    let time = Quantity.countdown(left)
    let forms = [next.retries.map { "again in \(time) (\(next.retry)/\($0))" }, "again in \(time)", "again \(time)"]
    return forms.compactMap(\.self).first { CellWidth.of($0) <= width } ?? time
  }
}
