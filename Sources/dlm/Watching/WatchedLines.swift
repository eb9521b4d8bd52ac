import DownloadModel
import DownloadScheduling
import Synchronization

/// The requests of a run that watches its lists: a source that waits for more until it is stopped, and the
/// owner of each line's work. `LivingLines` holds the rules; this is the lock around them.
///
/// The feed is told inside the lock, so that what it counts is always what the lines are.
final class WatchedLines: RequestSource {
  /// What one reading of a list brought.
  struct Reading: Sendable {
    var requests: [DownloadRequest] = []
    /// Lines that are no addresses.
    var rejections: [Rejection] = []
  }

  /// By which the run cancels single downloads.
  let scopes = DownloadScopes()
  private let names: [String]
  private let feed: ProgressFeed
  private let numbered: @Sendable (DownloadRequest) -> DownloadRequest
  private let state: Mutex<State>

  private typealias Lane = CheckedContinuation<Void, Never>

  private struct State {
    var lines: LivingLines
    /// Lines of each list that are none.
    var rejections: [[Rejection]]
    /// Why a list was never read; nil for one that was.
    var unread: [Rejection?]
    var pending = PendingRequests()
    /// Lanes that wait for a request, by ticket.
    var waiting: [Int: Lane] = [:]
    var lastTicket = 0
    var isStopped = false
    var nextLook: ContinuousClock.Instant?
    /// As `ListReader.downgrading`.
    var downgrading: Set<String> = []
  }

  /// - Parameters:
  ///   - names: of the lists, as messages have them.
  ///   - numbered: gives a request its name's number.
  init(
    lists names: [String], feed: ProgressFeed,
    numbered: @escaping @Sendable (DownloadRequest) -> DownloadRequest
  ) {
    self.names = names
    self.feed = feed
    self.numbered = numbered
    state = Mutex(
      State(
        lines: LivingLines(lists: names.count), rejections: Array(repeating: [], count: names.count),
        unread: Array(repeating: nil, count: names.count)))
  }

  /// What is waited for.
  var status: WatchStatus { state.withLock { status($0) } }

  /// Lists that came over https and name files that others can read and change on their way.
  var downgrading: Set<String> { state.withLock { $0.downgrading } }

  func note(downgrading lists: Set<String>) { state.withLock { $0.downgrading.formUnion(lists) } }

  // MARK: For the run

  func takeAtOnce() -> DownloadRequest? { state.withLock { $0.pending.take() } }

  /// What has been read can be taken at once; for more, somebody must change a list.
  var outlook: SourceOutlook {
    SourceOutlook(goesOn: false, hasFirst: state.withLock { $0.pending.hasFirst })
  }

  nonisolated(nonsending) func next() async -> DownloadRequest? {
    while !Task.isCancelled {
      let (request, isStopped) = state.withLock { ($0.pending.take(), $0.isStopped) }
      if request != nil || isStopped { return request }
      await waitForMore()
    }
    return nil
  }

  private nonisolated(nonsending) func waitForMore() async {
    let ticket = state.withLock { state in
      state.lastTicket += 1
      return state.lastTicket
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let mustWait = state.withLock { state in
          guard !Task.isCancelled, !state.isStopped, state.pending.isEmpty else { return false }
          state.waiting[ticket] = continuation
          return true
        }
        if !mustWait { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiting.removeValue(forKey: ticket) }?.resume()
    }
  }

  /// Gives nothing more, so that the run ends.
  func stop() {
    change { state in
      state.isStopped = true
      state.pending.removeAll()
    }
  }

  /// A line's work has ended, and does not come again by itself.
  func ended(_ request: DownloadRequest, _ result: Result<DownloadOutcome, DownloadError>) {
    scopes.forget(request.id)
    change { state in
      carryOut(state.lines.ended(request.id, result), &state)
      tellIfIdle(state)
    }
  }

  // MARK: For the watcher

  /// A list was read.
  /// - Parameters:
  ///   - mayLose: whether lines that it does not have are gone.
  ///   - isFirst: whether it is the run's first look at it.
  func read(_ reading: Reading, of list: Int, mayLose: Bool, isFirst: Bool) {
    // Outside the lock, for which the lanes wait: only the watcher, who calls this, changes lists.
    let change = ListChange(
      from: state.withLock { $0.lines.keys(of: list) }, to: reading.requests.map(\.key))
    let cancel = self.change { state in
      let mended = mayLose ? reject(reading.rejections, of: list, &state) : 0
      state.unread[list] = nil
      let effects = state.lines.change(
        list, by: change, to: reading.requests, mayLose: mayLose, isUnderWay: scopes.isUnderWay,
        numbered: numbered)
      carryOut(effects, &state)
      // What the run has not taken yet ends here.
      let taken = state.pending.remove(effects.cancel)
      for id in taken { carryOut(state.lines.ended(id, .failure(.cancelled)), &state) }
      feed.relist(state.lines.count)
      let news = WatchNews.Change(
        list: names[list], started: change.started, removed: mayLose ? change.removed.count : 0,
        restarted: mayLose ? change.restarted : 0, mended: mended, files: state.lines.count(of: list))
      if !isFirst, !news.isNothing {
        feed.tell(.changed(news))
        tellIfIdle(state)
      }
      return effects.cancel.subtracting(taken)
    }
    if !cancel.isEmpty { scopes.cancel(cancel) }
  }

  /// Every list was looked at once.
  func begun() { state.withLock { tellIfIdle($0) } }

  /// Tells of bad lines that were not there before.
  /// - Returns: how many are gone.
  private func reject(_ now: [Rejection], of list: Int, _ state: inout State) -> Int {
    var known: [String: Int] = [:]
    for rejection in state.rejections[list] { known[rejection.text, default: 0] += 1 }
    for rejection in now {
      if known[rejection.text, default: 0] > 0 {
        known[rejection.text]? -= 1
      } else {
        feed.reject(rejection)
      }
    }
    state.rejections[list] = now
    return known.values.reduce(0, +)
  }

  /// A list cannot be read. What it named before goes on.
  /// - Parameter isMissing: there is no file of its name.
  func unread(_ list: Int, _ why: Rejection, isMissing: Bool) {
    state.withLock { state in
      let files = state.lines.count(of: list)
      if files == 0 { state.unread[list] = why }
      feed.tell(isMissing ? .missing(list: names[list], files: files) : .unreadable(why, files: files))
    }
  }

  /// Asks again about what has come.
  func askAgain() {
    change { state in
      let requests = state.lines.askAgain()
      state.pending.add(requests)
      if !requests.isEmpty { feed.tell(.asking(files: requests.count)) }
    }
  }

  /// When `askAgain` is called next.
  func nextLook(at time: ContinuousClock.Instant?) { state.withLock { $0.nextLook = time } }

  // MARK: For the report

  var failures: [DownloadError] { state.withLock { $0.lines.failures } }

  /// Lines that are none, and lists that were never read.
  var rejections: [Rejection] {
    state.withLock { state in
      zip(state.unread, state.rejections).flatMap { unread, lines in (unread.map { [$0] } ?? []) + lines }
    }
  }

  /// Whether every line has come to something, so that a signal cuts nothing short.
  var isSettled: Bool { state.withLock { $0.lines.isSettled } }

  // MARK: Inside the lock

  /// Changes the state, and then wakes the lanes that wait for a request, if there are some now.
  private func change<Value: Sendable>(_ body: (inout State) -> Value) -> Value {
    let (value, lanes) = state.withLock { state -> (Value, [Lane]) in
      let value = body(&state)
      if state.pending.isEmpty, !state.isStopped { return (value, []) }
      defer { state.waiting = [:] }
      return (value, Array(state.waiting.values))
    }
    for lane in lanes { lane.resume() }
    return value
  }

  private func carryOut(_ effects: LivingLines.Effects, _ state: inout State) {
    state.pending.add(effects.start)
    for line in effects.removed { feed.remove(line.request, line.was) }
    if !effects.removed.isEmpty { feed.relist(state.lines.count) }
  }

  private func tellIfIdle(_ state: State) {
    if state.lines.isIdle { feed.tell(.waiting(status(state))) }
  }

  private func status(_ state: State) -> WatchStatus {
    WatchStatus(
      lists: names, files: state.lines.count,
      nextLook: state.nextLook.map { max(.zero, ContinuousClock.now.duration(to: $0)) })
  }
}

/// Requests that the run has not taken yet, in order.
private struct PendingRequests {
  private var requests: [DownloadRequest] = []
  private var next = 0
  /// Whether one was among them that goes first.
  private(set) var hasFirst = false

  var isEmpty: Bool { next >= requests.count }

  mutating func add(_ more: [DownloadRequest]) {
    hasFirst = hasFirst || more.contains(where: \.isFirst)
    if isEmpty { (requests, next) = ([], 0) }
    requests += more
  }

  mutating func take() -> DownloadRequest? {
    guard next < requests.count else { return nil }
    defer { next += 1 }
    return requests[next]
  }

  /// - Returns: the numbers of those that were here.
  mutating func remove(_ ids: Set<Int>) -> [Int] {
    if ids.isEmpty { return [] }
    let left = requests[next...]
    (requests, next) = (left.filter { !ids.contains($0.id) }, 0)
    return left.filter { ids.contains($0.id) }.map(\.id)
  }

  mutating func removeAll() { (requests, next) = ([], 0) }
}
