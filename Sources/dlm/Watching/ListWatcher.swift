import DownloadModel
import Glibc
import Synchronization

/// Follows the lists of a run: reads them, reads them again when they have changed and are still, and has everything
/// asked about again when that is due. A child of the run; it ends when that is cancelled.
struct ListWatcher: Sendable {
  let order: DownloadOrder
  let lines: WatchedLines
  /// Called before everything is asked about again.
  let askAnew: @Sendable () async -> Void
  let onRead: @Sendable (ListReader.Reading) -> Void

  /// How often a list is looked at of whose changes nobody tells.
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
    // What happens from now on is told.
    await notices.arm()
    for place in lists.indices { await look(at: &lists[place], believesLosses: true) }
    var schedule = order.watching?.every.map { RefreshSchedule(every: $0, from: start.duration(to: .now)) }
    announce(schedule, start)
    lines.begun()
    while !Task.isCancelled {
      let now = start.duration(to: .now)
      if schedule?.isDue(at: now) == true {
        announce(schedule, start)
        for place in lists.indices where lists[place].source.isListAt {
          await look(at: &lists[place], believesLosses: true)
        }
        await askAnew()
        lines.askAgain()
      }
      var wake = min(now + Self.pace, schedule?.next ?? now + Self.pace)
      for place in lists.indices {
        lists[place].noteDifference(at: now)
        switch lists[place].stillness.step(at: now) {
        case .rest: break
        case .wait(let time): wake = min(wake, time)
        case .look(let believesLosses): await look(at: &lists[place], believesLosses: believesLosses)
        }
      }
      let told = await notices.next(within: max(.zero, wake - start.duration(to: .now)))
      for one in told { lists[one.list].stillness.note(one.notice, at: start.duration(to: .now)) }
    }
  }

  private func announce(_ schedule: RefreshSchedule?, _ start: ContinuousClock.Instant) {
    lines.nextLook(at: schedule.map { start.advanced(by: $0.next) })
  }

  // MARK: One list

  /// A list as it was seen last.
  private struct List {
    let place: Int
    let source: Source
    let version = ListVersion()
    var stillness = ListStillness()
    var standing: Standing?
    /// What was said last of why it cannot be read.
    var trouble: Rejection.Reason?

    init(place: Int, source: Source) { (self.place, self.source) = (place, source) }

    /// It is another than at the last look: if nobody tells, this does.
    mutating func noteDifference(at now: Duration) {
      guard let path = source.path else { return }
      let standing = Standing(path)
      if standing != self.standing { stillness.note(.differs, at: now) }
      self.standing = standing
    }
  }

  /// A file as stat(2) shows it.
  private struct Standing: Equatable {
    private let numbers: [Int64]

    /// - Returns: nil if there is none.
    init?(_ path: String) {
      var status = stat()
      guard stat(path, &status) == 0 else { return nil }
      numbers = [
        Int64(bitPattern: UInt64(status.st_dev)), Int64(bitPattern: UInt64(status.st_ino)),
        Int64(status.st_size),
        Int64(status.st_mtim.tv_sec), Int64(status.st_mtim.tv_nsec), Int64(status.st_ctim.tv_sec),
        Int64(status.st_ctim.tv_nsec),
      ]
    }
  }

  private func look(at list: inout List, believesLosses: Bool) async {
    if let path = list.source.path { list.standing = Standing(path) }
    list.stillness.looked(believesLosses: believesLosses)
    let rejected = Lock<[Rejection]>([])
    var fetching = Wiring.listFetching(order.settings, order.environment)
    fetching.version = list.version
    let reader = ListReader(
      [list.source], outputName: order.outputName, checksum: order.settings.output.checksum,
      ordering: order.listOrdering, feed: ProgressFeed(), fetching: fetching,
      wantsWholeLines: !believesLosses, spool: nil, onReject: { one in rejected.withLock { $0.append(one) } })
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
    // What changed while it was read is looked at again, and nothing is missed by then.
    let isStill = list.source.path.map { Standing($0) == list.standing } ?? true
    lines.read(requests, rejections.filter { !$0.isOfList }, of: list.place, mayLose: believesLosses && isStill)
    onRead(ListReader.Reading(count: lines.count, isWhole: true, isKept: false, spooledLogins: false))
  }

  /// Says once why a list cannot be read.
  private func say(_ why: Rejection, of list: inout List) {
    // As it was when it was read last.
    if case .unfetched(let error) = why.reason, error.cause == .http(status: 304) { return }
    guard list.trouble != why.reason else { return }
    list.trouble = why.reason
    var isMissing = false
    if case .unreadable(errno: ENOENT) = why.reason { isMissing = true }
    lines.unread(list.place, why, isMissing: isMissing)
  }
}

extension Source {
  /// Of a list file.
  fileprivate var path: String? { if case .list(let path) = self { path } else { nil } }
}
