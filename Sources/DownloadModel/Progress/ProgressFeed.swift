import Synchronization

/// The progress of a run: transfers write to it, and several readers read it, each at its own pace. A reader of events
/// gets all events after its creation, once and in order; memory grows with those it has not taken. Without a reader,
/// neither events nor files in flight are kept.
package final class ProgressFeed: Sendable {
  package enum Detail: Sendable {
    /// Counts of files, and bytes received. The feed stores nothing for such a reader.
    case totals
    /// Also the files in flight.
    case files
    /// Also every event.
    case events
  }

  package let counter = TransferMeter.Counter()
  private let state = Lock(State())
  /// Whether a reader needs more than totals, or the run watches its lists. Read without the lock, so that a file costs
  /// nothing here otherwise.
  private let isRead = Atomic<Bool>(false)

  fileprivate struct State {
    var tally = ProgressTally()
    /// Requests that were not in the list.
    var added = 0
    var active: [Int: ProgressSample.ActiveDownload] = [:]
    var prompt: [String] = []
    var awaited: String?
    /// Which outcomes stay open, neither reported nor counted, until they are settled; and the open ones.
    var isUndecided: (@Sendable (DownloadOutcome) -> Bool)?
    var undecided: [Int: (request: DownloadRequest, outcome: DownloadOutcome)] = [:]
    var width: Int?
    var isPaused = false
    var hasWaited = false
    var lookAtHosts: HostLook?
    var lookAtWatch: (@Sendable () -> WatchStatus)?
    /// The last result of each line of the watched lists; `nil` unless the run watches its lists.
    var lines: [Int: (result: DownloadResult, kept: Int64)]?
    /// The first of the failed files, which may be tried again.
    var failed: [Int: (request: DownloadRequest, result: DownloadResult, kept: Int64)] = [:]
    /// Readers that need more than totals, and the watching of lists.
    var readers = 0
    var log = EventLog()

    /// Reports and counts the result of a file. A watched line that was checked again keeps its first result if the
    /// file was unchanged, so that the summary still counts it as downloaded by this run, or if the check was
    /// cancelled.
    mutating func end(_ request: DownloadRequest, _ result: DownloadResult, _ kept: Int64) {
      log.append(.ended(request, result))
      if let last = lines?[request.id] {
        switch (result, last.result) {
        case (.failure(let error), _) where error.code == .cancelled: return
        case (.success(let outcome), .success) where outcome.kind != .fetched: return
        default: tally.count(last.result, kept: last.kept, by: -1)
        }
      }
      if case .failure(let error) = result, error.code != .cancelled, failed.count < Self.mostFailed {
        failed[request.id] = (request, result, kept)
      }
      lines?[request.id] = (result, kept)
      tally.count(result, kept: kept)
    }

    private static let mostFailed = 10_000

    /// Leaves an end open; with `nil`, closes it.
    /// - Returns: whether it was open before.
    @discardableResult
    mutating func leaveOpen(_ id: Int, _ end: (request: DownloadRequest, outcome: DownloadOutcome)?) -> Bool {
      let before = undecided.removeValue(forKey: id)
      undecided[id] = end
      tally.undecided += (end == nil ? 0 : 1) - (before == nil ? 0 : 1)
      tally.finishedBytes += (end?.outcome.size ?? 0) - (before?.outcome.size ?? 0)
      return before != nil
    }
  }

  package init() {}

  // MARK: Writing

  /// The list has `count` requests as far as it was read or counted; `complete` once its end was reached.
  package func listed(_ count: Int, complete: Bool) {
    state.withLock { state in
      // The list may have changed since it was counted ahead.
      state.tally.listed = max(complete ? 0 : state.tally.listed, count + state.added)
      state.tally.listIsComplete = state.tally.listIsComplete || complete
    }
  }

  /// `count` requests were added during the run.
  package func add(_ count: Int) {
    state.withLock { state in
      state.added += count
      state.tally.listed += count
    }
  }

  /// The first failed files of the list.
  package func failures(most: Int) -> [(request: DownloadRequest, error: DownloadError)] {
    state.withLock { state in
      state.failed.keys.sorted().prefix(most).compactMap { id in
        guard let file = state.failed[id], case .failure(let error) = file.result else { return nil }
        return (file.request, error)
      }
    }
  }

  /// Takes failed files back: they are no longer counted, and the caller adds them again.
  /// - Parameter ids: `nil` for all.
  package func takeFailed(_ ids: Set<Int>?) -> [DownloadRequest] {
    state.withLock { state in
      let taken = state.failed.filter { ids?.contains($0.key) != false }
      for (id, file) in taken {
        state.failed[id] = nil
        state.tally.count(file.result, kept: file.kept, by: -1)
      }
      state.added -= taken.count
      state.tally.listed -= taken.count
      return taken.values.map(\.request).sorted { $0.id < $1.id }
    }
  }

  /// The cause for which the list waits; `nil` once more of it can be read.
  package func awaits(_ text: String?) { state.withLock { $0.awaited = text } }

  /// Accepts known sizes if they cover at least as many files as before.
  package func expect(_ sizes: ExpectedSizes) {
    state.withLock { if sizes.files > 0, sizes.files >= $0.tally.expected.files { $0.tally.expected = sizes } }
  }

  /// A file starts; its transfers add to the meter.
  /// - Parameter meter: of a file that starts its next attempt.
  package func start(_ request: DownloadRequest, with meter: TransferMeter? = nil) -> TransferMeter {
    let meter = meter ?? TransferMeter(counter: counter)
    change { state in
      let mirror = request.isAtMirror ? request.source : nil
      let active = ProgressSample.ActiveDownload(id: request.id, address: request.address, meter: meter, mirror: mirror)
      if state.active.updateValue(active, forKey: request.id) == nil { state.log.append(.began(request)) }
    }
    return meter
  }

  package func retry(_ request: DownloadRequest, _ next: NextAttempt, error: DownloadError) {
    change { $0.log.append(.retry(request, next, error: error)) }
  }

  /// A file goes back to the queue: it is no longer in flight, and starts again later. Called before the queue has it.
  package func requeue(_ request: DownloadRequest) { change { $0.active[request.id] = nil } }

  package func restart(_ request: DownloadRequest, _ reason: RestartReason) {
    change { $0.log.append(.restarted(request, reason)) }
  }

  /// Another process is downloading the file. One event a run, because that process may download the whole list.
  package func waits(_ request: DownloadRequest, forProcess process: Int?) {
    change { state in
      if !state.hasWaited { state.log.append(.waitsForAnotherProcess(request, process)) }
      state.hasWaited = true
    }
  }

  /// - Parameter kept: bytes of an unfinished file that are kept for the next run.
  package func end(_ request: DownloadRequest, _ result: DownloadResult, kept: Int64 = 0) {
    state.withLock { state in
      if state.readers > 0 { state.active[request.id] = nil }
      if case .success(let outcome) = result, state.isUndecided?(outcome) == true {
        state.leaveOpen(request.id, (request, outcome))
      } else {
        state.end(request, result, kept)
      }
    }
  }

  /// From now on, matching outcomes stay open until `settle`.
  package func leaveOpen(_ isUndecided: @escaping @Sendable (DownloadOutcome) -> Bool) {
    state.withLock { $0.isUndecided = isUndecided }
  }

  package func settle(_ request: DownloadRequest, _ result: DownloadResult) {
    state.withLock { state in
      // A watched line may have been removed meanwhile.
      guard state.leaveOpen(request.id, nil) else { return }
      state.end(request, result, 0)
    }
  }

  /// Ends all decisions: open outcomes are reported unchanged, and stay counted as undecided.
  package func leaveUndecided() {
    state.withLock { state in
      for (_, (request, outcome)) in state.undecided.sorted(by: { $0.key < $1.key }) {
        state.tally.finishedBytes -= outcome.size
        state.log.append(.ended(request, .success(outcome)))
      }
      state.undecided = [:]
    }
  }

  /// A line that is not a URL, or a list that broke off; it counts as a failure.
  package func reject(_ rejection: Rejection) {
    state.withLock { state in
      state.tally.reject(mayPass: rejection.mayPass)
      state.log.append(.rejected(rejection))
    }
  }

  /// Returns the hosts that keep files waiting, and the further connections of split files.
  package typealias HostLook = @Sendable () -> (waits: [HostWait], further: Int)

  /// Sets what each sample for a reader of events calls; `nil` once the run is over.
  package func hosts(from look: HostLook?) { state.withLock { $0.lookAtHosts = look } }

  // MARK: Watching

  /// From now on lines may be added and removed (`--watch`): the result of each is kept, and the files in flight, so
  /// that those of removed lines can be given up.
  /// - Parameter look: returns the state of watching; called for each sample of a reader of events.
  package func watch(_ look: @escaping @Sendable () -> WatchStatus) {
    state.withLock {
      $0.lines = [:]
      $0.readers += 1
      $0.lookAtWatch = look
    }
    isRead.store(true, ordering: .relaxed)
  }

  package func relist(_ count: Int) {
    state.withLock {
      $0.tally.listed = count
      $0.tally.listIsComplete = true
    }
  }

  /// A line was removed from all watched lists, and has no transfer in flight.
  package func remove(_ request: DownloadRequest, _ was: WatchNews.Removed) {
    state.withLock { state in
      let last = state.lines?.removeValue(forKey: request.id)
      state.leaveOpen(request.id, nil)
      if let last { state.tally.count(last.result, kept: last.kept, by: -1) }
      state.active[request.id] = nil
      // A line that never started is cancelled.
      state.log.append(.watch(.removed(request, last == nil ? .waiting : was)))
    }
  }

  package func tell(_ news: WatchNews) {
    state.withLock { state in
      if case .changed(let change) = news { state.tally.reject(by: -change.mended) }
      state.log.append(.watch(news))
    }
  }

  /// Lines to show below all others while a question waits for its answer; empty once it is answered.
  package func prompt(_ lines: [String]) { state.withLock { $0.prompt = lines } }

  package func width(_ count: Int) { state.withLock { $0.width = count } }

  package func pause(_ isPaused: Bool) { state.withLock { $0.isPaused = isPaused } }

  /// Changes state that is kept only for readers.
  private func change(_ body: (inout State) -> Void) {
    guard isRead.load(ordering: .relaxed) else { return }
    state.withLock { if $0.readers > 0 { body(&$0) } }
  }

  // MARK: Reading

  package var tally: ProgressTally { state.withLock { $0.tally } }

  /// Meters of those of the files that are in flight, if there is a reader of more than totals.
  package func meters(of ids: Set<Int>) -> [TransferMeter] {
    state.withLock { state in ids.compactMap { state.active[$0]?.meter } }
  }

  /// The files in flight that lose their bytes if they stop, if there is a reader of more than totals.
  package func countBeginningAnew() -> Int {
    state.withLock { $0.active.values.count { $0.meter.cannotResume && $0.meter.position > 0 } }
  }

  /// A reader that takes samples at any time, from now on until it is released.
  /// - Parameter most: events that wait for it; `nil` for all. It misses those above.
  package func reader(of detail: Detail, keeping most: Int? = nil) -> Reader { Reader(self, detail, most) }

  /// The feed keeps its events until the reader takes them or is released.
  package final class Reader: Sendable {
    private let feed: ProgressFeed
    private let detail: Detail
    private let share: Int?

    fileprivate init(_ feed: ProgressFeed, _ detail: Detail, _ most: Int?) {
      self.feed = feed
      self.detail = detail
      share = feed.state.withLock { state -> Int? in
        guard detail != .totals else { return nil }
        state.readers += 1
        feed.isRead.store(true, ordering: .relaxed)
        return detail == .events ? state.log.join(keeping: most) : nil
      }
    }

    deinit {
      guard detail != .totals else { return }
      feed.state.withLock { state in
        state.readers -= 1
        if let share { state.log.leave(share) }
        guard state.readers == 0 else { return }
        feed.isRead.store(false, ordering: .relaxed)
        state.active = [:]
      }
    }

    package func take() -> ProgressSample {
      // Outside of the lock, because it takes another one.
      let (lookAtHosts, lookAtWatch) =
        detail == .events ? feed.state.withLock { ($0.lookAtHosts, $0.lookAtWatch) } : (nil, nil)
      let hosts = lookAtHosts?()
      let watch = lookAtWatch?()
      return feed.state.withLock { state in
        ProgressSample(
          tally: state.tally, received: feed.counter.value,
          active: detail == .totals ? [] : Array(state.active.values),
          events: share.map { state.log.take($0) } ?? [], hosts: hosts?.waits ?? [], further: hosts?.further ?? 0,
          watch: watch, prompt: state.prompt, isPaused: state.isPaused, width: state.width, awaited: state.awaited)
      }
    }
  }
}

/// The events that each reader has not taken yet.
private struct EventLog {
  private struct Share {
    let most: Int?
    var events: [ProgressEvent] = []
  }

  /// By the number of the reader; `nil` once it has left. An array, because a loop over a dictionary's own indices
  /// holds a second reference to it: each event would copy all that wait.
  private var waiting: [Share?] = []

  mutating func append(_ event: @autoclosure () -> ProgressEvent) {
    if waiting.isEmpty { return }
    let event = event()
    for reader in waiting.indices {
      if let share = waiting[reader], let most = share.most, share.events.count >= most { continue }
      waiting[reader]?.events.append(event)
    }
  }

  mutating func join(keeping most: Int?) -> Int {
    waiting.append(Share(most: most))
    return waiting.count - 1
  }

  mutating func leave(_ reader: Int) { waiting[reader] = nil }

  mutating func take(_ reader: Int) -> [ProgressEvent] {
    defer { waiting[reader]?.events = [] }
    return waiting[reader]?.events ?? []
  }
}
