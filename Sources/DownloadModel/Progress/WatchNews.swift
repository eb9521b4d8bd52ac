package enum WatchNews: Sendable {
  /// Stands for a list: the URLs of `dlm add`, or a pasted link.
  package static let added = "added URLs"

  /// A list does not exist, yet or any more; its files continue.
  case missing(list: String, files: Int)
  /// A list exists and cannot be read; its files continue.
  case unreadable(Rejection, files: Int)
  case changed(Change)
  /// A line was removed from its list.
  case removed(DownloadRequest, Removed)
  case asking(files: Int)
  /// Everything listed has ended; the next event is a change of a list, or the next check.
  case waiting(WatchStatus)

  package struct Change: Sendable, Equatable {
    package var list: String
    package var started: Int
    package var removed: Int
    /// Lines that changed in something besides the URL.
    package var restarted: Int
    /// Bad lines that were corrected or removed.
    package var mended: Int
    package var files: Int

    package var isNothing: Bool { started == 0 && removed == 0 && restarted == 0 && mended == 0 }

    package init(list: String, started: Int, removed: Int, restarted: Int, mended: Int, files: Int) {
      self.list = list
      self.started = started
      self.removed = removed
      self.restarted = restarted
      self.mended = mended
      self.files = files
    }
  }

  /// The state of a line when it was removed.
  package enum Removed: String, Sendable {
    case waiting
    case running
    case done
    case failed
  }
}
