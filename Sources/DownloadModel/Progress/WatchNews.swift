package enum WatchNews: Sendable {
  /// Stands for a list: what `dlm add`, or a pasted link, put in.
  package static let added = "added URLs"

  /// A list is not there, yet or any more; what it named goes on.
  case missing(list: String, files: Int)
  /// A list is there and cannot be read as one; what it named goes on.
  case unreadable(Rejection, files: Int)
  case changed(Change)
  /// A line is in its list no more.
  case removed(DownloadRequest, Removed)
  case asking(files: Int)
  /// Everything listed has ended; the next event is a change of a list, or the next look.
  case waiting(WatchStatus)

  package struct Change: Sendable, Equatable {
    package var list: String
    package var started: Int
    package var removed: Int
    /// Lines of which something besides the address changed.
    package var restarted: Int
    /// Lines that were no addresses and are gone.
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

  /// How far a line had come that was removed.
  package enum Removed: String, Sendable {
    case waiting
    case running
    case done
    case failed
  }
}
