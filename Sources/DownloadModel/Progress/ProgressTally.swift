import Synchronization

/// Counts of files; the files themselves are not kept, so memory does not grow with the list.
package struct ProgressTally: Sendable, Equatable {
  package var listed = 0
  package var listIsComplete = false
  /// What is known of the files before any of them is asked for.
  package var expected = ExpectedSizes()
  /// Files whose bodies came over the network, also those whose bytes were here already.
  package var bodies = 0
  /// The bytes of those that this run had to fetch: none of earlier runs, and none that came twice or for nothing.
  package var bodyBytes: Int64 = 0
  /// Body bytes that finished files took from the network.
  package var transferredBytes: Int64 = 0
  package var resumedBytes: Int64 = 0
  /// Bytes of the finished files that this run fetched, copied, confirmed or left in place.
  package var finishedBytes: Int64 = 0
  /// Files that were given a number, because their names were taken, and what the first of them are called.
  package var numbered = 0
  package private(set) var numberedNames: [String] = []
  /// What the first of `pages` are called.
  package private(set) var pageNames: [String] = []
  /// Bytes of unfinished files that wait for the next run.
  package var keptBytes: Int64 = 0

  // How files ended: each counts once.
  package var fetched = 0
  package var unchanged = 0
  package var fresh = 0
  package var copied = 0
  package var skipped = 0
  package var failed = 0
  package var cancelled = 0
  /// Complete files that wait for the user's decision.
  package var undecided = 0

  // Remarks on them.
  /// Of `fetched`, those whose bytes were here already.
  package var sameAsHere = 0
  /// Of `fetched`, those that are empty because the server has nothing to send.
  package var withoutContent = 0
  /// Those that were used although they are no longer fresh.
  package var stale = 0
  package var decoded = 0
  /// HTML under names of other types.
  package var pages = 0
  package var notCoded = 0
  /// Of `failed`, those that a retry cannot help, and the lines that were no request.
  package var failedForGood = 0
  package var rejected = 0
  /// Of `cancelled`, those that the user gave up while the run went on.
  package var givenUp = 0
  package var provenByDigest = 0
  /// Of these, those by a checksum that finds no forgery.
  package var provenWeakly = 0
  /// Files whose end only the closing connection marked.
  package var unproven = 0
  /// Those that the user had take the place of another file.
  package var replaced = 0

  package init() {}

  /// Files that no server had to send.
  package var asBefore: Int { unchanged + fresh + copied }

  package var done: Int { fetched + asBefore + skipped }
  /// Requests that are no longer under way, and rejected lines, which never were.
  package var ended: Int { done + failed + cancelled + undecided }

  /// Requests that never began, or were under way at the end.
  package var notBegun: Int { max(0, listed - (ended - rejected)) }

  /// - Parameter one: -1 takes back what was counted for a file that is not of the run any more.
  mutating func count(_ result: Result<DownloadOutcome, DownloadError>, kept: Int64 = 0, by one: Int = 1) {
    switch result {
    case .success(let outcome): count(outcome, by: one)
    case .failure(let error):
      keptBytes += kept * Int64(one)
      if error.isOfUser {
        cancelled += one
        if error.code == .skipped { givenUp += one }
      } else {
        failed += one
        if !error.mayPass { failedForGood += one }
      }
    }
  }

  mutating func reject(by one: Int = 1, mayPass: Bool = false) {
    failed += one
    if !mayPass { failedForGood += one }
    rejected += one
  }

  private mutating func count(_ outcome: DownloadOutcome, by one: Int) {
    switch outcome.kind {
    case .fetched: fetched += one
    case .unchanged: unchanged += one
    case .fresh: fresh += one
    case .copied: copied += one
    case .skipped: skipped += one
    }
    switch outcome.remark {
    case .sameAsHere: sameAsHere += one
    case .noContent: withoutContent += one
    case .decoded: decoded += one
    case .notCoded: notCoded += one
    case .stale: stale += one
    case .page:
      pages += one
      if pageNames.count < 3 { pageNames.append(outcome.name) }
    case .stillCoded, nil: break
    }
    if outcome.hasReplaced { replaced += one }
    if outcome.proof == .digest { provenByDigest += one }
    if outcome.algorithm?.findsForgery == false { provenWeakly += one }
    if outcome.proof == .nothing { unproven += one }
    if outcome.isNumbered {
      numbered += one
      if numberedNames.count < 3 { numberedNames.append(outcome.path) }
    }
    let sign = Int64(one)
    if let bytes = outcome.bodyBytes {
      bodies += one
      bodyBytes += bytes * sign
    }
    finishedBytes += outcome.size * sign
    transferredBytes += outcome.transferred * sign
    resumedBytes += outcome.resumed * sign
  }
}
