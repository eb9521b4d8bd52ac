public import DownloadModel

/// The object of a run's summary line, for a file of its own.
public enum RunSummaryJSON {
  /// - Parameters:
  ///   - rejected: lines of the list that were none.
  ///   - more: what only the file says.
  /// - Returns: a line, with its end.
  public static func text(
    _ tally: ProgressTally, transferred: Int64, rejected: Int, elapsed: Duration, words: ProgressMessages,
    more: [String: JSONValue]
  ) -> String {
    let sample = ProgressSample(tally: tally, received: transferred, active: [], events: [])
    return JSONLog(words: words, rejected: rejected).summary(sample, elapsed, more)
  }
}
