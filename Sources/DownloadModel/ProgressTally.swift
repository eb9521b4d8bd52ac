/// Counts of files; the files themselves are not kept, so memory does not grow with the list.
public struct ProgressTally: Sendable, Equatable {
  /// Requests read from the list so far.
  public var listed = 0
  public var listIsComplete = false
  public var fetched = 0
  public var unchanged = 0
  public var fresh = 0
  public var copied = 0
  public var skipped = 0
  /// Of `fetched`, those whose bytes were here already.
  public var sameAsHere = 0
  /// Of `fetched`, those that are empty because the server has nothing to send.
  public var withoutContent = 0
  /// Those that were used although they are no longer fresh.
  public var stale = 0
  /// Those whose content coding was removed.
  public var decoded = 0
  public var failed = 0
  /// Of `failed`, those that a retry cannot help.
  public var failedForGood = 0
  public var cancelled = 0
  /// Of `cancelled`, those that the user gave up while the run went on.
  public var givenUp = 0
  /// Bytes of unfinished files that wait for the next run.
  public var keptBytes: Int64 = 0
  /// Bytes of the finished files that this run fetched, copied, confirmed or left in place.
  public var finishedBytes: Int64 = 0
  /// Files whose bodies came over the network, also those whose bytes were here already.
  public var bodies = 0
  /// Of those, the bytes that this run had to fetch: without those of earlier runs, and without bytes that came twice
  /// or for nothing.
  public var bodyBytes: Int64 = 0
  /// Body bytes that finished files took from the network.
  public var transferredBytes: Int64 = 0
  public var resumedBytes: Int64 = 0
  /// Files whose checksum was compared.
  public var provenByDigest = 0
  /// Files whose end only the closing connection marked.
  public var unproven = 0

  public init() {}

  /// Files that were here, or in the cache, and that no server had to send.
  public var asBefore: Int { unchanged + fresh + copied }

  public var done: Int { fetched + unchanged + fresh + copied + skipped }
  /// Requests that are no longer under way, and rejected lines, which never were.
  public var ended: Int { done + failed + cancelled }

  /// - Parameter kept: bytes of an unfinished file that wait for the next run.
  mutating func count(_ result: Result<DownloadOutcome, DownloadError>, kept: Int64 = 0) {
    if case .failure = result { keptBytes += kept }
    switch result {
    case .success(let outcome):
      if outcome.kind == .fetched || outcome.transferred > 0 {
        bodies += 1
        bodyBytes += outcome.size - outcome.resumed
      }
      switch outcome.kind {
      case .fetched: fetched += 1
      case .unchanged: unchanged += 1
      case .fresh: fresh += 1
      case .copied: copied += 1
      case .skipped: skipped += 1
      }
      switch outcome.remark {
      case .sameAsHere: sameAsHere += 1
      case .noContent: withoutContent += 1
      case .decoded: decoded += 1
      case .stale: stale += 1
      case .stillCoded, nil: break
      }
      finishedBytes += outcome.size
      transferredBytes += outcome.transferred
      resumedBytes += outcome.resumed
      if outcome.proof == .digest { provenByDigest += 1 }
      if outcome.proof == .nothing { unproven += 1 }
    case .failure(let error) where error.isOfUser:
      cancelled += 1
      if error.code == .skipped { givenUp += 1 }
    case .failure(let error):
      failed += 1
      if !error.isTransient { failedForGood += 1 }
    }
  }
}

extension ProgressTally {
  /// Takes back what was counted for a file that is not of the run any more.
  mutating func forget(_ result: Result<DownloadOutcome, DownloadError>, kept: Int64) {
    var one = ProgressTally()
    one.count(result, kept: kept)
    func take(_ field: WritableKeyPath<ProgressTally, Int>) { self[keyPath: field] -= one[keyPath: field] }
    func take(_ field: WritableKeyPath<ProgressTally, Int64>) { self[keyPath: field] -= one[keyPath: field] }
    for field in Self.counts { take(field) }
    for field in Self.bytes { take(field) }
  }

  private static var counts: [WritableKeyPath<ProgressTally, Int>] {
    [
      \.fetched, \.unchanged, \.fresh, \.copied, \.skipped, \.sameAsHere, \.withoutContent, \.stale,
      \.decoded,
      \.failed, \.failedForGood, \.cancelled, \.givenUp, \.bodies, \.provenByDigest, \.unproven,
    ]
  }

  private static var bytes: [WritableKeyPath<ProgressTally, Int64>] {
    [\.keptBytes, \.finishedBytes, \.bodyBytes, \.transferredBytes, \.resumedBytes]
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
    /// What stands behind the address is no option of a line.
    case option(String)
    case unreadable(errno: Int32)
    /// The list at an address could not be fetched.
    case unfetched(DownloadError)
    /// The list's compressed data is damaged from that line on.
    case damaged(String)
    /// It is no list at all, or not from there on.
    case noList(NoList)
  }

  /// What stands where a list should.
  public enum NoList: Error, Equatable {
    case binary
    /// HTML.
    case page
    /// A text, perhaps a list, in an encoding that is not UTF-8.
    case utf16
    /// So many lines that are no addresses.
    case lines(Int)
  }

  /// Whether the list itself could not be read to its end.
  public var isOfList: Bool {
    switch reason {
    case .unreadable, .unfetched, .damaged, .noList: true
    case .malformed, .notUTF8, .tooLong, .option: false
    }
  }

  public init(list: String, line: Int?, text: String, reason: Reason) {
    self.list = list
    self.line = line
    self.text = text
    self.reason = reason
  }
}
