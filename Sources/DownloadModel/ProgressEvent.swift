/// Behind a reference, because each reader gets a copy.
package indirect enum ProgressEvent: Sendable {
  case began(DownloadRequest)
  case retry(DownloadRequest, NextAttempt, error: DownloadError)
  /// Another process has the file; only the first such event of a run.
  case waitsForAnotherProcess(DownloadRequest, _ process: Int?)
  /// Bytes that it had are dropped.
  case restarted(DownloadRequest, RestartReason)
  case ended(DownloadRequest, Result<DownloadOutcome, DownloadError>)
  case rejected(Rejection)
  case watch(WatchNews)
}

/// Why a file starts over, although a part of it was saved.
package enum RestartReason: String, Sendable {
  /// Its tag or date is another one than that of the part.
  case otherVersion = "other-version"
  case otherLength = "other-length"
  /// The last bytes of the part came differently.
  case otherBytes = "other-bytes"
  /// The server sends the whole file, or another range; nothing shows that it has changed.
  case notContinued = "not-continued"
}

/// A line of a list that cannot be a request.
package struct Rejection: Sendable, Equatable {
  /// The list's file, or "standard input".
  package var list: String
  /// Counted from 1; nil when the failure is of the list itself.
  package var line: Int?
  /// The line as written, shortened, with credentials removed.
  package var text: String
  package var reason: Reason

  package enum Reason: Sendable, Equatable {
    case malformed(Address.Malformed)
    case notUTF8
    case tooLong
    /// A row, or what is to be made of it, is wrong.
    case row(String)
    /// What stands behind the address is no option of a line.
    case option(String)
    /// An earlier line asks for the same file with other header lines.
    case otherHeaders
    /// A third party's list gives a header line, named here, that it may not have sent to that server.
    case thirdPartyHeader(String)
    /// What the list says of the file, as `name=value`, cannot be used.
    case field(String)
    /// It is no line of that kind of list.
    case foreign(to: String)
    case unreadable(errno: Int32)
    /// The list at an address could not be fetched.
    case unfetched(DownloadError)
    /// The list's compressed data is damaged from that line on.
    case damaged(String)
    /// It is no list at all, or not from there on.
    case noList(NoList)
  }

  package enum NoList: Error, Equatable {
    case binary
    /// HTML.
    case page
    /// XML of another kind, by its root.
    case markup(String)
    /// Of a kind that is read with a library that is not installed.
    case noLibrary(String, for: String)
    /// Compressed so that it takes much memory to read.
    case heavy
    /// A text, perhaps a list, in an encoding that is not UTF-8.
    case utf16
    /// So many lines that are no addresses.
    case lines(Int)
    /// `--accept` matches no link of a page; the first links to files are named.
    case unmatched([String])
    /// Its names or addresses are relative, and nothing says to what.
    case noBase
    /// Its checksums are of an algorithm that dlm does not know.
    case checksums(String)
    /// No field is the one that the option named, or that holds URLs; or several may be.
    case field(String?, among: [String], option: String = "url-field")
  }

  /// Whether it is of a list that the next run may get.
  package var mayPass: Bool { if case .unfetched(let why) = reason { why.mayPass } else { false } }

  /// Whether the list itself could not be read to its end.
  package var isOfList: Bool {
    switch reason {
    case .unreadable, .unfetched, .damaged, .noList: true
    case .malformed, .notUTF8, .tooLong, .row, .option, .otherHeaders, .thirdPartyHeader, .field, .foreign: false
    }
  }

  package init(list: String, line: Int?, text: String, reason: Reason) {
    self.list = list
    self.line = line
    self.text = text
    self.reason = reason
  }
}

/// A host that takes no more files for now.
package struct HostWait: Sendable, Equatable {
  /// With its port, where that is not the scheme's.
  package var host: String
  /// How many files it takes at a time.
  package var limit: Int
  /// Whether its answers said so, and not the user.
  package var isLearnt: Bool
  package var waiting: Int
  /// Until it is asked again; nil where only the end of another file is waited for.
  package var pause: Duration?
  /// Whether it said that it takes no more requests until then, and refused none.
  package var isSpent: Bool

  package init(host: String, limit: Int, isLearnt: Bool, waiting: Int, pause: Duration?, isSpent: Bool = false) {
    self.host = host
    self.limit = limit
    self.isLearnt = isLearnt
    self.waiting = waiting
    self.pause = pause
    self.isSpent = isSpent
  }
}

/// What a run that watches its lists waits for, at one moment.
package struct WatchStatus: Sendable, Equatable {
  package var lists: [String]
  package var files: Int
  /// Until downloaded files are asked about again; nil if they are not.
  package var nextLook: Duration?

  package init(lists: [String], files: Int, nextLook: Duration? = nil) {
    self.lists = lists
    self.files = files
    self.nextLook = nextLook
  }
}

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
