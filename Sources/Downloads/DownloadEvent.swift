public import DownloadModel

/// What happens to one file of a list: first `began`, then any number of `progress` and `retrying`, and at last
/// `finished` or `failed`, once. An address that is none has only `failed`.
public enum DownloadEvent: Sendable {
  /// The file is under way. For a small file this comes together with its end.
  case began(index: Int, DownloadItem)
  /// More of it is there. Coalesced: at most one for each file and `progressInterval`; a slow reader gets the latest.
  case progress(DownloadProgress)
  /// An attempt failed, and another follows after a pause.
  case retrying(index: Int, DownloadItem, NextAttempt, DownloadError)
  /// Never lost or coalesced.
  case finished(index: Int, DownloadItem, DownloadedFile)
  /// Never lost or coalesced. Other files go on.
  case failed(index: Int, DownloadItem, DownloadError)
}
