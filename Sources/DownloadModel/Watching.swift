/// What a run that watches its lists waits for, at one moment.
public struct WatchStatus: Sendable, Equatable {
  /// Their names, as messages have them.
  public var lists: [String]
  /// Lines that are in them.
  public var files: Int
  /// Until what has come is asked about again; nil where it is not.
  public var nextLook: Duration?

  public init(lists: [String], files: Int, nextLook: Duration? = nil) {
    self.lists = lists
    self.files = files
    self.nextLook = nextLook
  }
}

/// What happened to the lists of a run that watches them.
public enum WatchNews: Sendable {
  /// A list is not there, yet or any more; what it named goes on.
  case missing(list: String, files: Int)
  /// A list is there and cannot be read as one; what it named goes on.
  case unreadable(Rejection, files: Int)
  /// A list names other files than before.
  case changed(Change)
  /// A line is not in its list any more.
  case removed(DownloadRequest, Removed)
  /// So many files are asked about again.
  case asking(files: Int)
  /// Everything listed has ended; the next thing to happen is a change of a list, or the next look.
  case waiting(WatchStatus)

  public struct Change: Sendable, Equatable {
    public var list: String
    public var started: Int
    public var removed: Int
    /// Lines of which something besides the address changed.
    public var restarted: Int
    /// Lines that were no addresses and are gone.
    public var mended: Int
    /// Lines that are in the list now.
    public var files: Int

    public var isNothing: Bool { started == 0 && removed == 0 && restarted == 0 && mended == 0 }

    public init(list: String, started: Int, removed: Int, restarted: Int, mended: Int, files: Int) {
      self.list = list
      self.started = started
      self.removed = removed
      self.restarted = restarted
      self.mended = mended
      self.files = files
    }
  }

  /// How far a line had come that was removed.
  public enum Removed: String, Sendable {
    case waiting
    case running
    /// Its file stays.
    case done
    case failed
  }
}

/// What each line of the watched lists came to last.
struct LineResults {
  struct Line {
    var result: Result<DownloadOutcome, DownloadError>
    var kept: Int64
  }

  private var lines: [Int: Line] = [:]

  /// Notes what a line came to.
  ///
  /// One that was asked about again and found as it was keeps what it came to first, so that the summary still says
  /// that this run fetched it; and a question that was cut short says nothing.
  /// - Parameter replaced: called with what it came to before, if that counts no more.
  /// - Returns: whether the new result counts.
  mutating func note(
    _ id: Int, _ result: Result<DownloadOutcome, DownloadError>, kept: Int64, replaced: (Line) -> Void
  ) -> Bool {
    if let last = lines[id] {
      guard Self.counts(result, after: last.result) else { return false }
      replaced(last)
    }
    lines[id] = Line(result: result, kept: kept)
    return true
  }

  mutating func remove(_ id: Int) -> Line? { lines.removeValue(forKey: id) }

  static func counts(
    _ result: Result<DownloadOutcome, DownloadError>, after last: Result<DownloadOutcome, DownloadError>
  ) -> Bool {
    switch (result, last) {
    case (.failure(let error), _) where error.code == .cancelled: false
    case (.success(let outcome), .success): outcome.kind == .fetched
    default: true
    }
  }
}
