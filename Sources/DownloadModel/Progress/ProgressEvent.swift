/// Indirect, because each reader gets a copy.
package indirect enum ProgressEvent: Sendable {
  case began(DownloadRequest)
  case retry(DownloadRequest, NextAttempt, error: DownloadError)
  /// Another process is downloading the file; only the first such event of a run.
  case waitsForAnotherProcess(DownloadRequest, _ process: Int?)
  /// The bytes that it had are discarded.
  case restarted(DownloadRequest, RestartReason)
  case ended(DownloadRequest, DownloadResult)
  case rejected(Rejection)
  case watch(WatchNews)
}
