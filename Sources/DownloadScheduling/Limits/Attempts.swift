import DownloadModel

/// The attempts of one file, counted from its failures. Pure.
struct Attempts {
  private(set) var count = 1
  /// Consecutive attempts without progress.
  private(set) var failures = 0
  /// Requests that failed on a connection that the server had closed meanwhile.
  private(set) var stale = 0
  /// Whether the last attempt made progress.
  var hasProgressed: Bool { count > 1 && failures == 0 }
  private var furthest: Int64 = 0

  /// An attempt makes progress if it receives this many bytes beyond all earlier attempts. A file has only so many of
  /// these steps, so a server that breaks off or starts over each time cannot cause endless retries.
  static let progress: Int64 = 16 << 10

  mutating func add(_ error: DownloadError, at position: Int64) {
    if error.isStaleConnection { stale += 1 }
    // The queue counts its own. The first stale connection is no failure of the file.
    if error.isForQueue || error.isStaleConnection && stale == 1 { return }
    count += 1
    failures += 1
    // A file that failed as too slow received bytes, too, but that is not progress.
    if position >= furthest + Self.progress, error.code != .tooSlow {
      furthest = position
      failures = 0
    }
  }
}
