public import DownloadModel

/// The events of one file of a list: first `began`, then any number of `progress` and `retrying`, and finally
/// `finished` or `failed`, once. An item whose URL is invalid has only `failed`.
public enum DownloadEvent: Sendable {
  /// The file has started. For a small file, this event arrives together with its end.
  case began(index: Int, DownloadItem)
  /// More bytes exist. Coalesced: at most one for each file and `progressInterval`; a slow reader gets the latest.
  case progress(DownloadProgress)
  /// An attempt failed, and another follows after a pause.
  case retrying(index: Int, DownloadItem, NextAttempt, DownloadError)
  /// Never lost or coalesced.
  case finished(index: Int, DownloadItem, DownloadedFile)
  /// Never lost or coalesced. Other files continue.
  case failed(index: Int, DownloadItem, DownloadError)
}
