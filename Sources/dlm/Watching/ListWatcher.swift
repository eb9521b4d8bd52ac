import DownloadModel
import FileReceiving
import Glibc
import Synchronization

/// Reads the lists of a run again when they have changed and are unchanged for a while, and has all files checked again
/// when due. A child of the run, which ends it by cancellation.
struct ListWatcher {
  let order: DownloadOrder
  let lines: WatchedLines
  let askAnew: @Sendable () async -> Void
  /// Ends the downloads of removed lines.
  let giveUp: @Sendable (Set<Int>) async -> Void
  let onRead: @Sendable (ListReader.Reading) -> Void

  private static let pace = Duration.seconds(2)

  func run() async {
    let notices = ListNotices(order.sources.map(\.path))
    await withTaskCancellationHandler {
      await follow(notices)
    } onCancel: {
      notices.interrupt()
    }
  }

  private func follow(_ notices: ListNotices) async {
    let start = ContinuousClock.now
    var lists = order.sources.enumerated().map { List(place: $0, source: $1) }
    // From now on changes are reported.
    await notices.arm()
    for place in lists.indices { await look(at: &lists[place], believesLosses: true) }
    var next = nextRound(from: ContinuousClock.now - start)
    lines.nextLook(at: next.map { start + $0 })
    lines.begun()
    while !Task.isCancelled {
      let now = ContinuousClock.now - start
      if let due = next, now >= due {
        next = nextRound(from: now)
        lines.nextLook(at: next.map { start + $0 })
        for place in lists.indices where lists[place].source.isListAt {
          await look(at: &lists[place], believesLosses: true)
        }
        await askAnew()
        lines.askAgain()
      }
      var wake = min(now + Self.pace, next ?? now + Self.pace)
      for place in lists.indices {
        lists[place].noteDifference(at: now)
        switch lists[place].stillness.step(at: now) {
        case .rest: break
        case .wait(let time): wake = min(wake, time)
        case .look(let believesLosses): await look(at: &lists[place], believesLosses: believesLosses)
        }
      }
      let told = await notices.next(within: max(.zero, wake - (ContinuousClock.now - start)))
      for one in told { lists[one.list].stillness.note(one.notice, at: ContinuousClock.now - start) }
    }
  }

  /// When all files are checked again (`--refresh-every`). Rounds missed by a sleeping machine count as one.
  private func nextRound(from now: Duration) -> Duration? { order.watching?.every.map { now + $0 } }

  // MARK: One list

  private struct List {
    let place: Int
    let source: Source
    let version = ListAtAddress.Version()
    var stillness = ListStillness()
    var standing: StandingFile?
    var trouble: Rejection.Reason?

    /// Notes a changed file, for file systems without notices.
    mutating func noteDifference(at now: Duration) {
      let standing = source.standing
      if standing != self.standing { stillness.note(.differs, at: now) }
      self.standing = standing
    }
  }

  private func look(at list: inout List, believesLosses: Bool) async {
    list.standing = list.source.standing
    list.stillness.looked(believesLosses: believesLosses)
    let rejected = Lock<[Rejection]>([])
    var fetching = Wiring.listFetching(order.settings)
    fetching.version = list.version
    let reader = ListReader(
      [list.source], order.marks, fetching: fetching, wantsWholeLines: !believesLosses, followsFiles: true,
      onReject: { one in rejected.withLock { $0.append(one) } })
    let requests = await reader.all()
    lines.note(downgrading: await reader.downgrading)
    if Task.isCancelled { return }
    let rejections = rejected.withLock { $0 }
    guard await reader.isWhole else {
      if let why = rejections.last(where: \.isOfList), believesLosses { say(why, of: &list) }
      return
    }
    list.trouble = nil
    list.version.isRead()
    // If it changed during the read, it is read again, and no line counts as removed until then.
    let isStill = list.source.standing == list.standing
    let removed = lines.read(
      requests, rejections.filter { !$0.isOfList }, of: list.place, mayLose: believesLosses && isStill)
    if !removed.isEmpty { await giveUp(removed) }
    onRead(ListReader.Reading(count: lines.count))
  }

  private func say(_ why: Rejection, of list: inout List) {
    // Unchanged since it was read.
    if case .unfetched(let error) = why.reason, error.cause == .http(status: 304) { return }
    guard list.trouble != why.reason else { return }
    list.trouble = why.reason
    lines.unread(list.place, why, isMissing: why.reason == .unreadable(errno: ENOENT))
  }
}
