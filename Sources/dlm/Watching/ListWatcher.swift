import DownloadModel
import Glibc
import Synchronization

/// Follows the lists of a run: reads them, reads them again when they have changed and are still, and has
/// everything asked about again when that is due. A child of the run; it ends when that is cancelled.
struct ListWatcher: Sendable {
  /// How one list is read.
  typealias Read =
    @Sendable (
      Source, _ wantsWholeLines: Bool, ListVersion, _ onReject: @escaping @Sendable (Rejection) -> Void
    )
    async -> (requests: [DownloadRequest], isWhole: Bool)

  let sources: [Source]
  let lines: WatchedLines
  /// `--refresh-every`.
  let every: Duration?
  let read: Read
  /// Called before everything is asked about again.
  let askAnew: @Sendable () async -> Void
  /// Called when a list was read.
  let onRead: @Sendable () -> Void

  /// How often a list is looked at of whose changes nobody tells.
  private static let pace = Duration.seconds(2)

  func run() async {
    let notices = ListNotices(sources.map(\.path))
    await withTaskCancellationHandler {
      await follow(notices)
    } onCancel: {
      notices.interrupt()
    }
  }

  private func follow(_ notices: ListNotices) async {
    let start = ContinuousClock.now
    var lists = sources.enumerated().map { List(place: $0, source: $1) }
    // What happens from now on is told.
    await notices.arm()
    for place in lists.indices { await look(at: &lists[place], believesLosses: true) }
    var schedule = every.map { RefreshSchedule(every: $0, from: start.duration(to: .now)) }
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
    var isFirst = true
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
    let isFirst = list.isFirst
    list.isFirst = false
    if let path = list.source.path { list.standing = Standing(path) }
    list.stillness.looked(believesLosses: believesLosses)
    let rejected = Mutex<[Rejection]>([])
    let (requests, isWhole) = await read(list.source, !believesLosses, list.version) { one in
      rejected.withLock { $0.append(one) }
    }
    if Task.isCancelled { return }
    let rejections = rejected.withLock { $0 }
    guard isWhole else {
      if let why = rejections.last(where: \.isOfList), believesLosses || isFirst { say(why, of: &list) }
      return
    }
    list.trouble = nil
    list.version.isRead()
    // What changed while it was read is looked at again, and nothing is missed by then.
    let isStill = list.source.path.map { Standing($0) == list.standing } ?? true
    lines.read(
      WatchedLines.Reading(requests: requests, rejections: rejections.filter { !$0.isOfList }),
      of: list.place, mayLose: believesLosses && isStill, isFirst: isFirst)
    onRead()
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
