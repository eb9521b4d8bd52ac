/// Counts of files; the files themselves are not kept, so memory does not grow with the list.
@dynamicMemberLookup
public struct ProgressTally: Sendable, Equatable {
  public var listed = 0
  public var listIsComplete = false
  /// What is known of the files before any of them is asked for.
  public var expected = ExpectedSizes()
  private var verdicts = Verdicts()
  private var remarks = Remarks()
  /// Files whose bodies came over the network, also those whose bytes were here already.
  public var bodies = 0
  /// The bytes of those that this run had to fetch: none of earlier runs, and none that came twice or for nothing.
  public var bodyBytes: Int64 = 0
  /// Body bytes that finished files took from the network.
  public var transferredBytes: Int64 = 0
  public var resumedBytes: Int64 = 0
  /// Bytes of the finished files that this run fetched, copied, confirmed or left in place.
  public var finishedBytes: Int64 = 0
  /// Files that were given a number, because their names were taken, and what the first of them are called.
  public var numbered = 0
  public private(set) var numberedNames: [String] = []
  /// Bytes of unfinished files that wait for the next run.
  public var keptBytes: Int64 = 0

  /// How files ended: each counts once.
  public struct Verdicts: Sendable, Equatable {
    public var fetched = 0
    public var unchanged = 0
    public var fresh = 0
    public var copied = 0
    public var skipped = 0
    public var failed = 0
    public var cancelled = 0
    /// Files that have come, whose end somebody has yet to decide.
    public var undecided = 0
  }

  public struct Remarks: Sendable, Equatable {
    /// Of `fetched`, those whose bytes were here already.
    public var sameAsHere = 0
    /// Of `fetched`, those that are empty because the server has nothing to send.
    public var withoutContent = 0
    /// Those that were used although they are no longer fresh.
    public var stale = 0
    public var decoded = 0
    /// Of `failed`, those that a retry cannot help, and the lines that were no request.
    public var failedForGood = 0
    public var rejected = 0
    /// Of `cancelled`, those that the user gave up while the run went on.
    public var givenUp = 0
    public var provenByDigest = 0
    /// Of these, those by a checksum that finds no forgery.
    public var provenWeakly = 0
    /// Files whose end only the closing connection marked.
    public var unproven = 0
    /// Those that the user had take the place of another file.
    public var replaced = 0
  }

  public init() {}

  public subscript(dynamicMember count: WritableKeyPath<Verdicts, Int>) -> Int {
    get { verdicts[keyPath: count] }
    set { verdicts[keyPath: count] = newValue }
  }

  public subscript(dynamicMember count: WritableKeyPath<Remarks, Int>) -> Int {
    get { remarks[keyPath: count] }
    set { remarks[keyPath: count] = newValue }
  }

  /// Files that no server had to send.
  public var asBefore: Int { verdicts.unchanged + verdicts.fresh + verdicts.copied }

  public var done: Int { verdicts.fetched + asBefore + verdicts.skipped }
  /// Requests that are no longer under way, and rejected lines, which never were.
  public var ended: Int { done + verdicts.failed + verdicts.cancelled + verdicts.undecided }

  /// Requests that never began, or were under way at the end.
  public var notBegun: Int { max(0, listed - (ended - remarks.rejected)) }

  /// - Parameter one: -1 takes back what was counted for a file that is not of the run any more.
  mutating func count(_ result: Result<DownloadOutcome, DownloadError>, kept: Int64 = 0, by one: Int = 1) {
    switch result {
    case .success(let outcome): count(outcome, by: one)
    case .failure(let error):
      keptBytes += kept * Int64(one)
      if error.isOfUser {
        verdicts.cancelled += one
        if error.code == .skipped { remarks.givenUp += one }
      } else {
        verdicts.failed += one
        if !error.isTransient { remarks.failedForGood += one }
      }
    }
  }

  mutating func reject(by one: Int = 1) {
    verdicts.failed += one
    remarks.failedForGood += one
    remarks.rejected += one
  }

  private mutating func count(_ outcome: DownloadOutcome, by one: Int) {
    switch outcome.kind {
    case .fetched: verdicts.fetched += one
    case .unchanged: verdicts.unchanged += one
    case .fresh: verdicts.fresh += one
    case .copied: verdicts.copied += one
    case .skipped: verdicts.skipped += one
    }
    switch outcome.remark {
    case .sameAsHere: remarks.sameAsHere += one
    case .noContent: remarks.withoutContent += one
    case .decoded: remarks.decoded += one
    case .stale: remarks.stale += one
    case .stillCoded, nil: break
    }
    if outcome.hasReplaced { remarks.replaced += one }
    if outcome.proof == .digest { remarks.provenByDigest += one }
    if outcome.algorithm?.findsForgery == false { remarks.provenWeakly += one }
    if outcome.proof == .nothing { remarks.unproven += one }
    if outcome.isNumbered {
      numbered += one
      if numberedNames.count < 3 { numberedNames.append(outcome.name) }
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

/// How many files have a size that their list, the index or the last run of the list gives, and these sizes together.
public struct ExpectedSizes: Sendable, Equatable {
  public var files: Int
  public var bytes: Int64

  public init(files: Int = 0, bytes: Int64 = 0) { (self.files, self.bytes) = (files, bytes) }
}

/// The state of a run at one moment.
public struct ProgressSample: Sendable {
  public var tally: ProgressTally
  /// Body bytes received by the whole run so far, those of files in flight included.
  public var received: Int64
  /// In no order, without files that began while the feed had no reader; empty for a reader of totals.
  public var active: [ActiveDownload]
  /// Since the reader's last sample.
  public var events: [ProgressEvent]
  /// The hosts that keep files waiting, the one with most of them first; empty for a reader without events.
  public var hosts: [HostWait]
  /// Connections of split files beside the first of each; 0 for a reader without events.
  public var further: Int
  /// Nil for a run that watches no lists, and for a reader without events.
  public var watch: WatchStatus?
  public var prompt: [String]
  /// How many files at a time the user wants by now; nil where nobody has said so during the run.
  public var width: Int?

  public init(
    tally: ProgressTally, received: Int64, active: [ActiveDownload], events: [ProgressEvent],
    hosts: [HostWait] = [], further: Int = 0, watch: WatchStatus? = nil, prompt: [String] = [], width: Int? = nil
  ) {
    (self.tally, self.received, self.active, self.events) = (tally, received, active, events)
    (self.hosts, self.further, self.watch, self.prompt, self.width) = (hosts, further, watch, prompt, width)
  }
}

public struct ActiveDownload: Sendable, Identifiable {
  public let id: Int
  public let address: Address
  public let meter: TransferMeter
  /// Which one is asked; nil for its own address.
  public var mirror: Address?
}
