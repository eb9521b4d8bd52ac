import Synchronization

/// What a run looks like at this moment: transfers write, the renderer samples at its own rate.
///
/// Bytes are counters. Only start, retry and end are events; they are kept until the renderer takes them
/// (never dropped). When nobody watches, neither they nor a table of what is under way are kept.
public final class ProgressBoard: Sendable {
  /// Body bytes received by the whole run.
  public let counter = TransferCounter()
  private let isWatched: Bool
  private let keepsBeginnings: Bool
  private let state = Mutex(State())

  private struct State {
    var tally = ProgressTally()
    var active: [Int: ActiveDownload] = [:]
    var events: [ProgressEvent] = []
    var prompt: [String] = []
    var hasWaited = false
  }

  /// - Parameters:
  ///   - isWatched: false when no renderer will take samples.
  ///   - keepsBeginnings: whether the start of each file is an event too.
  public init(isWatched: Bool, keepsBeginnings: Bool = false) {
    self.isWatched = isWatched
    self.keepsBeginnings = keepsBeginnings
  }

  /// The list grew to `count` requests as far as it was read; `complete` when its end was seen.
  public func listed(_ count: Int, complete: Bool) {
    state.withLock { state in
      state.tally.listed = max(state.tally.listed, count)
      state.tally.listIsComplete = state.tally.listIsComplete || complete
    }
  }

  /// A file begins; the meter that its transfer adds to.
  public func start(_ request: DownloadRequest) -> TransferMeter {
    let meter = TransferMeter(counter: counter)
    guard isWatched else { return meter }
    state.withLock { state in
      state.active[request.id] = ActiveDownload(id: request.id, address: request.address, meter: meter)
      if keepsBeginnings { state.events.append(.began(request)) }
    }
    return meter
  }

  public func retry(_ request: DownloadRequest, _ next: NextAttempt, error: DownloadError) {
    guard isWatched else { return }
    state.withLock { $0.events.append(.retry(request.address, next, error: error)) }
  }

  /// A file's host refused it for now: it is no longer under way, and begins anew later.
  /// - Parameter next: nil for one that only waits for its turn, which is no news.
  public func putBack(_ request: DownloadRequest, _ next: NextAttempt?, error: DownloadError) {
    guard isWatched else { return }
    state.withLock { state in
      state.active[request.id] = nil
      guard let next, next.delay > .zero else { return }
      state.events.append(.retry(request.address, next, error: error))
    }
  }

  /// Another process has the file, and it is waited for. Said once a run: of a whole list that another process fetches,
  /// the first says it all.
  public func waitsForAnotherProcess(_ request: DownloadRequest) {
    guard isWatched else { return }
    state.withLock { state in
      if !state.hasWaited { state.events.append(.waitsForAnotherProcess(request.address)) }
      state.hasWaited = true
    }
  }

  public func end(_ request: DownloadRequest, _ result: Result<DownloadOutcome, DownloadError>) {
    state.withLock { state in
      state.tally.count(result)
      guard isWatched else { return }
      state.active[request.id] = nil
      state.events.append(.ended(request.address, result))
    }
  }

  /// A line that is no address, or a list that broke off: it counts as a failure.
  public func reject(_ rejection: Rejection) {
    state.withLock { state in
      state.tally.failed += 1
      state.tally.failedForGood += 1
      if isWatched { state.events.append(.rejected(rejection)) }
    }
  }

  /// Lines below everything else while somebody is asked; none when the question is answered.
  public func prompt(_ lines: [String]) { state.withLock { $0.prompt = lines } }

  /// The moment's numbers and the events since the last call.
  public func take() -> ProgressSample {
    state.withLock { state in
      let events = state.events
      state.events = []
      return ProgressSample(
        tally: state.tally, received: counter.value, active: Array(state.active.values),
        events: events, prompt: state.prompt)
    }
  }

  public var tally: ProgressTally { state.withLock { $0.tally } }
}

/// Files counted, not kept: memory does not grow with the list.
public struct ProgressTally: Sendable, Equatable {
  /// Requests read from the list so far.
  public var listed = 0
  public var listIsComplete = false
  public var fetched = 0
  public var unchanged = 0
  public var copied = 0
  public var skipped = 0
  /// Of `fetched`, those whose bytes stood here already.
  public var sameAsHere = 0
  /// Of `fetched`, those that are empty because the server has nothing to send.
  public var withoutContent = 0
  /// Those whose content coding was taken off.
  public var decoded = 0
  public var failed = 0
  /// Of `failed`, those that trying again cannot mend.
  public var failedForGood = 0
  public var cancelled = 0
  /// Bytes of finished files that stand on disk because of, or confirmed by, this run.
  public var finishedBytes: Int64 = 0
  /// Files whose bodies came over the network, also those that turned out to be here already.
  public var bodies = 0
  /// Of those, the bytes that were not here before: the work itself, whatever came twice or for nothing.
  public var bodyBytes: Int64 = 0
  /// Body bytes that finished files took from the network.
  public var transferredBytes: Int64 = 0
  public var resumedBytes: Int64 = 0
  /// Files whose checksum was compared.
  public var provenByDigest = 0
  /// Files that nothing but the closing connection ended.
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
      if !error.isPassing { failedForGood += 1 }
    }
  }
}

/// A file that is being downloaded.
public struct ActiveDownload: Sendable, Identifiable {
  public let id: Int
  public let address: Address
  public let meter: TransferMeter

  public init(id: Int, address: Address, meter: TransferMeter) {
    self.id = id
    self.address = address
    self.meter = meter
  }
}

public enum ProgressEvent: Sendable {
  /// Only on boards that keep them.
  case began(DownloadRequest)
  case retry(Address, NextAttempt, error: DownloadError)
  /// Another process has the file; the first of a run only.
  case waitsForAnotherProcess(Address)
  case ended(Address, Result<DownloadOutcome, DownloadError>)
  case rejected(Rejection)
}

/// A line of a list that cannot be a request.
public struct Rejection: Sendable, Equatable {
  /// The list's file, or "standard input".
  public var list: String
  /// From 1; nil when the trouble is with the list itself.
  public var line: Int?
  /// The line as written, cut to a sane length, credentials removed.
  public var text: String
  public var reason: Reason

  public enum Reason: Sendable, Equatable {
    case malformed(Address.Malformed)
    case notUTF8
    case tooLong
    case unreadable(errno: Int32)
    /// The list at an address did not come.
    case unfetched(DownloadError)
    /// What it was compressed with cannot be undone from that line on.
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

/// What the renderer draws from.
public struct ProgressSample: Sendable {
  public var tally: ProgressTally
  /// Body bytes received by the whole run so far, files still under way included.
  public var received: Int64
  public var active: [ActiveDownload]
  public var events: [ProgressEvent]
  /// A question to whoever sits at the terminal.
  public var prompt: [String]

  public init(
    tally: ProgressTally, received: Int64, active: [ActiveDownload], events: [ProgressEvent],
    prompt: [String] = []
  ) {
    self.tally = tally
    self.received = received
    self.active = active
    self.events = events
    self.prompt = prompt
  }
}
