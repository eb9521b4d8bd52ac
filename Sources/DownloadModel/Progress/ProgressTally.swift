/// Counts of files. The files themselves are not stored, so memory does not grow with the list.
package struct ProgressTally: Sendable, Equatable {
  package var listed = 0
  package var listIsComplete = false
  /// Sizes known before the files are requested.
  package var expected = ExpectedSizes()
  /// Files whose bodies were downloaded, including those whose bytes existed already.
  package var bodies = 0
  /// The bytes of those files that this run had to download: without bytes of earlier runs, and without bytes received
  /// twice or in vain.
  package var bodyBytes: Int64 = 0
  /// Body bytes that finished files received from the network.
  package var transferredBytes: Int64 = 0
  package var resumedBytes: Int64 = 0
  /// Bytes of the finished files that this run downloaded, copied, confirmed or left in place.
  package var finishedBytes: Int64 = 0
  /// Files that got a number because their names were taken, and the names of the first of them.
  package var numbered = 0
  package private(set) var numberedNames: [String] = []
  /// The names of the first `pages`.
  package private(set) var pageNames: [String] = []
  /// Bytes of unfinished files that are kept for the next run.
  package var keptBytes: Int64 = 0

  // Results of files: each file counts once.
  package var fetched = 0
  package var unchanged = 0
  package var fresh = 0
  package var copied = 0
  package var skipped = 0
  package var failed = 0
  package var cancelled = 0
  /// Complete files that wait for the user's decision.
  package var undecided = 0

  // Remarks on the files.
  /// Included in `fetched`: files whose bytes existed already.
  package var sameAsHere = 0
  /// Included in `fetched`: empty files, because the server has nothing to send.
  package var withoutContent = 0
  /// Files that were used although they are stale.
  package var stale = 0
  package var decoded = 0
  /// HTML under names of other types.
  package var pages = 0
  package var notCoded = 0
  /// Included in `failed`: failures that a retry cannot help, and lines that were no request.
  package var failedForGood = 0
  package var rejected = 0
  /// Included in `cancelled`: files that the user gave up during the run.
  package var givenUp = 0
  package var provenByDigest = 0
  /// Included in `provenByDigest`: files with a checksum that does not detect forgery.
  package var provenWeakly = 0
  /// Files whose end was marked only by the closing connection.
  package var unproven = 0
  /// Files that replaced another file by the user's decision.
  package var replaced = 0

  package init() {}

  /// Files that no server had to send.
  package var asBefore: Int { unchanged + fresh + copied }

  package var done: Int { fetched + asBefore + skipped }
  /// Requests that are no longer in flight, and rejected lines, which never were.
  package var ended: Int { done + failed + cancelled + undecided }

  /// Requests that never started, or were in flight at the end.
  package var notBegun: Int { max(0, listed - (ended - rejected)) }

  /// - Parameter one: -1 undoes the count of a file that no longer belongs to the run.
  mutating func count(_ result: DownloadResult, kept: Int64 = 0, by one: Int = 1) {
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
