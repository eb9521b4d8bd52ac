import DownloadModel
import FileReceiving

/// The source of a run that watches its lists, which waits for more until it is stopped: the lock around
/// `WatchedState`. The feed is updated under the lock, so that its counts always match the lines.
final class WatchedLines: RequestSource {
  /// The last one is for requests of no list.
  private let names: [String]
  private let feed: ProgressFeed
  private let numbers: NameNumbers
  private let state: Waiters<State>

  private struct State {
    var lines: WatchedState
    /// By list.
    var rejections: [Int: [Rejection]] = [:]
    /// Why a list was never read.
    var unread: [Int: Rejection] = [:]
    var hasBegun = false
    var isStopped = false
    var nextLook: ContinuousClock.Instant?
    var downgrading: Set<String> = []

    mutating func take() -> DownloadRequest? { isStopped ? nil : lines.take() }
  }

  /// - Parameter numbers: the names that the run's cache knows.
  init(_ sources: [Source], _ numbers: NameNumbers, _ feed: ProgressFeed) {
    names = sources.map(\.name) + [WatchNews.added]
    self.feed = feed
    self.numbers = numbers
    state = Waiters(State(lines: WatchedState(lists: names.count)))
    feed.watch { [self] in state.withLock { status($0) } }
  }

  // MARK: For the run

  func takeAtOnce() -> DownloadRequest? { state.withLock { $0.take() } }

  /// Without a change to a list there are no more requests.
  var outlook: SourceOutlook { SourceOutlook(goesOn: false, hasFirst: state.withLock { $0.lines.hasFirst }) }

  nonisolated(nonsending) func next() async -> DownloadRequest? {
    await state.wait { state -> DownloadRequest?? in
      if let request = state.take() { return request }
      return state.isStopped ? .some(nil) : nil
    } ?? nil
  }

  func stop() { state.withLock { $0.isStopped = true } }

  /// The line's work has ended, and does not start again by itself.
  func ended(_ request: DownloadRequest, _ result: DownloadResult) {
    state.withLock { state in
      tell(of: state.lines.ended(request.id, result), state)
      tellIfIdle(state)
    }
  }

  // MARK: For the watcher

  /// Whether the line of a request that the run was given is still in its list.
  @Sendable func isWanted(_ request: DownloadRequest) -> Bool { !state.withLock { $0.lines.isLeaving(request.id) } }

  /// - Parameter mayLose: whether missing lines count as removed.
  /// - Returns: the numbers of removed requests that the run has; it must end them.
  func read(_ requests: [DownloadRequest], _ rejections: [Rejection], of list: Int, mayLose: Bool) -> Set<Int> {
    // Outside the lock, for which lanes wait; only the watcher, which calls this, changes lists.
    let change = ListChange(from: state.withLock { $0.lines.keys(of: list) }, to: requests.map(\.key))
    return state.withLock { state in
      let mended = mayLose ? reject(rejections, of: list, &state) : 0
      state.unread[list] = nil
      let effects = state.lines.change(list, by: change, to: requests, mayLose: mayLose, numbers: numbers)
      tell(of: effects.removed, state)
      feed.relist(state.lines.count)
      let news = WatchNews.Change(
        list: names[list], started: change.started, removed: mayLose ? change.removed.count : 0,
        restarted: mayLose ? change.restarted : 0, mended: mended, files: state.lines.count(of: list))
      if state.hasBegun, !news.isNothing {
        feed.tell(.changed(news))
        tellIfIdle(state)
      }
      return effects.cancel
    }
  }

  /// Adds requests that are in no list.
  /// - Returns: the new ones; `nil` once it is stopped.
  func add(_ requests: [DownloadRequest]) -> [DownloadRequest]? {
    let new = state.withLock { state in
      state.isStopped ? nil : requests.filter { !$0.isRepeat && !state.lines.has($0.address) }
    }
    // Without removals, earlier added requests stay.
    if let new { _ = read(new, [], of: names.count - 1, mayLose: false) }
    return new
  }

  func begun() {
    state.withLock { state in
      state.hasBegun = true
      tellIfIdle(state)
    }
  }

  /// Reports new bad lines.
  /// - Returns: how many are gone.
  private func reject(_ now: [Rejection], of list: Int, _ state: inout State) -> Int {
    var known = Dictionary(grouping: state.rejections[list] ?? [], by: \.text)
    for rejection in now where known[rejection.text]?.popLast() == nil { feed.reject(rejection) }
    state.rejections[list] = now
    return known.values.joined().count
  }

  /// The files that the list named before continue.
  /// - Parameter isMissing: no file has its name.
  func unread(_ list: Int, _ why: Rejection, isMissing: Bool) {
    state.withLock { state in
      let files = state.lines.count(of: list)
      if files == 0 { state.unread[list] = why }
      feed.tell(isMissing ? .missing(list: names[list], files: files) : .unreadable(why, files: files))
    }
  }

  func askAgain() {
    state.withLock { state in
      let count = state.lines.askAgain()
      if count > 0 { feed.tell(.asking(files: count)) }
    }
  }

  func nextLook(at time: ContinuousClock.Instant?) { state.withLock { $0.nextLook = time } }

  func note(downgrading lists: Set<String>) { state.withLock { $0.downgrading.formUnion(lists) } }

  // MARK: For the report

  var downgrading: Set<String> { state.withLock { $0.downgrading } }

  var count: Int { state.withLock { $0.lines.count } }

  var failures: [DownloadError] { state.withLock { $0.lines.failures } }

  var rejections: [Rejection] {
    state.withLock { state in
      names.indices.flatMap { list in (state.unread[list].map { [$0] } ?? []) + (state.rejections[list] ?? []) }
    }
  }

  /// Whether a signal would cancel no work.
  var isSettled: Bool { state.withLock { $0.lines.isSettled } }

  // MARK: Under the lock

  private func tell(of removed: [WatchedState.Removed], _ state: State) {
    for line in removed { feed.remove(line.request, line.was) }
    if !removed.isEmpty { feed.relist(state.lines.count) }
  }

  private func tellIfIdle(_ state: State) {
    if state.hasBegun, state.lines.isIdle { feed.tell(.waiting(status(state))) }
  }

  private func status(_ state: State) -> WatchStatus {
    WatchStatus(
      lists: names.dropLast(), files: state.lines.count,
      nextLook: state.nextLook.map { max(.zero, $0 - ContinuousClock.now) })
  }
}
