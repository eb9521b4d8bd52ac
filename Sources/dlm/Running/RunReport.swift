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
  /// The signal that ended it.
  var signal: Int32?

  var status: ExitStatus {
    signal == nil ? ExitStatus(failures: failures, rejections: rejections) : ExitStatus(signal: signal)
  }
}
