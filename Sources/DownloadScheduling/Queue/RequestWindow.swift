import DownloadModel
import HeapModule

/// Requests that were read from the list and not yet passed to their hosts. It is bounded, so that an endless list uses
/// no more memory: the first request is then the first of those in the window.
struct RequestWindow {
  /// The most requests that are read ahead, including those that wait for their hosts.
  static let limit = 1 << 16
  /// The most urgent requests in a row while others wait for other hosts: an endless list may contain urgent ones
  /// forever.
  static let mostInARow = 16

  /// The reading of the source: none; the queue's reader should start; a lane or that reader waits; the source has
  /// ended.
  enum Reader { case nobody, isWanted, waits, isDone }

  private struct Ranked: Comparable {
    let rank: RequestRank
    let request: DownloadRequest

    static func == (left: Ranked, right: Ranked) -> Bool { left.rank == right.rank }
    static func < (left: Ranked, right: Ranked) -> Bool { left.rank < right.rank }
  }

  let ranking: RequestRanking
  /// Whether the list is read ahead, because its order is not the run's.
  private(set) var isOpen: Bool
  var reader = Reader.nobody
  /// Whether the source has more without waiting.
  private(set) var goesOn = true
  // Two heaps, so that urgent requests of busy hosts do not block the others.
  private var urgent = Heap<Ranked>()
  private var others = Heap<Ranked>()
  private var urgentInARow = 0
  /// Requests that go before others once they are read.
  private var preferred: Set<Int> = []
  /// The number of callers that may still add requests after the source has ended.
  private var keepers = 0

  init(_ ranking: RequestRanking, isOpen: Bool) {
    self.ranking = ranking
    self.isOpen = isOpen
  }

  var count: Int { urgent.count + others.count }
  var hasEnded: Bool { reader == .isDone }
  /// Whether more are available without waiting for the list.
  var hasMore: Bool { count > 0 || reader == .nobody }
  /// Whether nothing is left, and nothing will be added.
  var isOver: Bool { hasEnded && count == 0 && keepers == 0 }

  private func mayReadOn(besides held: Int) -> Bool { isOpen && !hasEnded && held + count < Self.limit }

  /// Whether the first request is still unknown, because more can be read without waiting.
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

  /// A request that the source has at once. While the reader waits, nothing is taken past it: it may have the next
  /// request already, on its way to `received`.
  func next(_ source: RequestQueueState.AtOnce) -> DownloadRequest? { reader == .waits ? nil : source() }

  /// Accepts the source's result after a wait; `nil` at its end.
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
    let request = preferred.remove(request.id) == nil ? request : request.first
    let ranked = Ranked(rank: ranking.rank(request), request: request)
    if request.isFirst { urgent.insert(ranked) } else { others.insert(ranked) }
  }

  /// Adds requests that go behind all of the source's. The source is read ahead from now on.
  mutating func add(_ more: [DownloadRequest], keepers change: Int) {
    keepers += change
    if !more.isEmpty { isOpen = true }
    for request in more { add(request) }
  }

  /// Moves those that are waiting here, and later those that are still to be read, before others.
  mutating func prefer(_ ids: Set<Int>) {
    isOpen = true
    preferred.formUnion(ids)
    for request in withdraw(ids) { add(request) }
  }

  mutating func takeUrgent() -> DownloadRequest? { urgent.popMin()?.request }
  mutating func takeOther() -> DownloadRequest? { others.popMin()?.request }

  mutating func gave(_ request: DownloadRequest) { urgentInARow = request.isFirst ? urgentInARow + 1 : 0 }

  /// Whether the next request must be a non-urgent one of a host without urgent requests.
  var letsOthersGo: Bool { !hasEnded && urgentInARow >= Self.mostInARow }

  mutating func withdraw(_ ids: Set<Int>) -> [DownloadRequest] {
    let withdrawn = (urgent.unordered + others.unordered).map(\.request).filter { ids.contains($0.id) }
    if withdrawn.isEmpty { return [] }
    urgent.removeAll { ids.contains($0.request.id) }
    others.removeAll { ids.contains($0.request.id) }
    return withdrawn
  }
}
