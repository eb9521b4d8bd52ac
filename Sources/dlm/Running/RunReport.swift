import DownloadModel

/// How a run went, as values: what the summary, the history and the exit status are made from.
struct RunReport: Sendable {
  var mode: DownloadMode
  var jobs: Int
  var tally: ProgressTally
  /// Body bytes received, those of files that did not end well included.
  var received: Int64
  var elapsed: Duration
  var failures: [DownloadError]
  var rejections: [Rejection]
  /// Failures that were counted and not kept.
  var moreFailures = 0
  /// The signal that ended it.
  var signal: Int32?

  /// Files whose turn never came, because the disk took no more. A list that was not read to its end names further ones.
  var notBegun: Int {
    guard signal == nil, failures.contains(where: \.stopsWriting) else { return 0 }
    let ended = tally.done + tally.failed - rejections.count + tally.cancelled
    return max(0, tally.listed - ended)
  }

  var status: ExitStatus {
    signal == nil ? ExitStatus(failures: failures, rejections: rejections) : ExitStatus(signal: signal)
  }
}
