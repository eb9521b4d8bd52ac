/// Counts of files; the files themselves are not kept, so memory does not grow with the list.
public struct ProgressTally: Sendable, Equatable {
  /// Requests read from the list so far.
  public var listed = 0
  public var listIsComplete = false
  public var fetched = 0
  public var unchanged = 0
  public var copied = 0
  public var skipped = 0
  /// Of `fetched`, those whose bytes were here already.
  public var sameAsHere = 0
  /// Of `fetched`, those that are empty because the server has nothing to send.
  public var withoutContent = 0
  /// Those whose content coding was removed.
  public var decoded = 0
  public var failed = 0
  /// Of `failed`, those that a retry cannot help.
  public var failedForGood = 0
  public var cancelled = 0
  /// Bytes of the finished files that this run fetched, copied, confirmed or left in place.
  public var finishedBytes: Int64 = 0
  /// Files whose bodies came over the network, also those whose bytes were here already.
  public var bodies = 0
  /// Of those, the bytes that this run had to fetch: without those of earlier runs, and without bytes that
  /// came twice or for nothing.
  public var bodyBytes: Int64 = 0
  /// Body bytes that finished files took from the network.
  public var transferredBytes: Int64 = 0
  public var resumedBytes: Int64 = 0
  /// Files whose checksum was compared.
  public var provenByDigest = 0
  /// Files whose end only the closing connection marked.
  public var unproven = 0

  public init() {}

  public var done: Int { fetched + unchanged + copied + skipped }

  mutating func count(_ result: Result<DownloadOutcome, DownloadError>) {
    switch result {
    case .success(let outcome):
      if outcome.kind == .fetched || outcome.transferred > 0 {
        bodies += 1
        bodyBytes += outcome.size - outcome.resumed
      }
      switch outcome.kind {
      case .fetched: fetched += 1
      case .unchanged: unchanged += 1
      case .copied: copied += 1
      case .skipped: skipped += 1
      }
      switch outcome.remark {
      case .sameAsHere: sameAsHere += 1
      case .noContent: withoutContent += 1
      case .decoded: decoded += 1
      case .stillCoded, nil: break
      }
      finishedBytes += outcome.size
      transferredBytes += outcome.transferred
      resumedBytes += outcome.resumed
      if outcome.proof == .digest { provenByDigest += 1 }
      if outcome.proof == .nothing { unproven += 1 }
    case .failure(let error) where error.code == .cancelled:
      cancelled += 1
    case .failure(let error):
      failed += 1
      if !error.isTransient { failedForGood += 1 }
    }
  }
}

/// A line of a list that cannot be a request.
public struct Rejection: Sendable, Equatable {
  /// The list's file, or "standard input".
  public var list: String
  /// Counted from 1; nil when the failure is of the list itself.
  public var line: Int?
  /// The line as written, shortened, with credentials removed.
  public var text: String
  public var reason: Reason

  public enum Reason: Sendable, Equatable {
    case malformed(Address.Malformed)
    case notUTF8
    case tooLong
    case unreadable(errno: Int32)
    /// The list at an address could not be fetched.
    case unfetched(DownloadError)
    /// The list's compressed data is damaged from that line on.
    case damaged(String)
  }

  /// Whether the list itself could not be read to its end.
  public var isOfList: Bool {
    switch reason {
    case .unreadable, .unfetched, .damaged: true
    case .malformed, .notUTF8, .tooLong: false
    }
  }

  public init(list: String, line: Int?, text: String, reason: Reason) {
    self.list = list
    self.line = line
    self.text = text
    self.reason = reason
  }
}
