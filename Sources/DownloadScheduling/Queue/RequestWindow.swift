import DownloadModel
import HeapModule

/// What was read of the list and has not been sorted to its hosts. It is bounded, so that an endless list costs no
/// more: what goes first is then the first of those in the window.
struct RequestWindow {
  /// Most requests that are read ahead, those that wait for their hosts included.
  static let limit = 1 << 16
  /// Most urgent requests in a row while others wait for other hosts: an endless list may hold urgent ones for ever.
  static let mostInARow = 16

  /// Who waits for the source: nobody; nobody yet although the queue's reader should; a lane or that reader; or nobody
  /// any more because it has ended.
  enum Reader { case nobody, isWanted, waits, isDone }

  private struct Ranked: Comparable {
    let rank: RequestRank
    let request: DownloadRequest

    static func == (left: Ranked, right: Ranked) -> Bool { left.rank == right.rank }
    static func < (left: Ranked, right: Ranked) -> Bool { left.rank < right.rank }
  }

  let ranking: RequestRanking
  /// Whether the list is read ahead: its order is not the run's.
  private(set) var isOpen: Bool
  var reader = Reader.nobody
  /// Whether the source has more without waiting.
  private(set) var goesOn = true
  // Two, so that urgent ones whose hosts are busy do not stand before the others.
  private var urgent = Heap<Ranked>()
  private var others = Heap<Ranked>()
  private var urgentInARow = 0
  /// Who may yet add requests when the source has ended.
  private var keepers = 0

  init(_ ranking: RequestRanking, isOpen: Bool) {
    self.ranking = ranking
    self.isOpen = isOpen
  }

  var count: Int { urgent.count + others.count }
  var hasEnded: Bool { reader == .isDone }
  /// Whether others can be had without waiting for the list.
  var hasMore: Bool { count > 0 || reader == .nobody }
  /// Whether nothing is left, and nothing comes.
  var isOver: Bool { hasEnded && count == 0 && keepers == 0 }

  private func mayReadOn(besides held: Int) -> Bool { isOpen && !hasEnded && held + count < Self.limit }

  /// Whether what goes first is unknown, since more can be read without waiting.
  func isUndecided(besides held: Int) -> Bool { ranking.order != .list && goesOn && mayReadOn(besides: held) }

  /// Whether the reader should now wait for the source; if so, `received` must be called.
  mutating func takeReading(besides held: Int) -> Bool {
    let reads = reader == .isWanted || reader == .nobody && mayReadOn(besides: held)
    if reads { reader = .waits }
    return reads
  }

  mutating func readAhead(besides held: Int, _ source: RequestQueueState.AtOnce) {
    while mayReadOn(besides: held), let request = next(source) { add(request) }
  }

  /// What the source has at once. While its reader waits for it, nothing is taken past the reader, which may have the
  /// next request already, on its way to `received`.
  func next(_ source: RequestQueueState.AtOnce) -> DownloadRequest? { reader == .waits ? nil : source() }

  /// Takes what the source gave after a wait, nil at its end.
  /// - Returns: the request, if it goes to its host without being compared with others.
  mutating func received(_ request: DownloadRequest?, _ outlook: SourceOutlook) -> DownloadRequest? {
    reader = request == nil ? .isDone : .nobody
    goesOn = outlook.goesOn
    if outlook.hasFirst { isOpen = true }
    guard isOpen, let request else { return request }
    add(request)
    return nil
  }

  mutating func add(_ request: DownloadRequest) {
    let ranked = Ranked(rank: ranking.rank(request), request: request)
    if request.isFirst { urgent.insert(ranked) } else { others.insert(ranked) }
  }

  /// Takes requests that go behind all of the source's, which is read ahead from now on.
  mutating func add(_ more: [DownloadRequest], keepers change: Int) {
    keepers += change
    if !more.isEmpty { isOpen = true }
    for request in more { add(request) }
  }

  mutating func takeUrgent() -> DownloadRequest? { urgent.popMin()?.request }
  mutating func takeOther() -> DownloadRequest? { others.popMin()?.request }

  mutating func gave(_ request: DownloadRequest) { urgentInARow = request.isFirst ? urgentInARow + 1 : 0 }

  /// Whether one that is not urgent, of a host without urgent ones, has its turn.
  var letsOthersGo: Bool { !hasEnded && urgentInARow >= Self.mostInARow }

  mutating func withdraw(_ ids: Set<Int>) -> [DownloadRequest] {
    let withdrawn = (urgent.unordered + others.unordered).map(\.request).filter { ids.contains($0.id) }
    if withdrawn.isEmpty { return [] }
    urgent.removeAll { ids.contains($0.request.id) }
    others.removeAll { ids.contains($0.request.id) }
    return withdrawn
  }
}
