import DequeModule
import DownloadModel

/// The requests that wait for one host, in lists that are emptied from the front.
struct HeldRequests {
  enum Place {
    /// The host was given up while they waited: they must fail fast.
    case failFast
    /// Unanswered over one connection; must be retried over another. The index in `reserved`.
    case reserved(Int)
    /// Not sent yet, or unanswered; in the run's order.
    case fresh
    /// Urgent and refused at most twice, or started before: behind urgent requests that were never sent.
    case refusedFirst
    /// Behind requests that were never sent, so that a file that is always refused delays no other.
    case refused

    fileprivate var index: Int {
      switch self {
      case .failFast: 0
      case .fresh: 1
      case .refusedFirst: 2
      case .refused: 3
      // Unused: those are in `reserved`.
      case .reserved: 4
      }
    }
  }

  /// A request that must be sent over a connection of a certain share.
  struct Reserved {
    let share: Int
    /// It starts once this many files have ended on the share, which frees that connection.
    let ends: Int
    let request: DownloadRequest
  }

  /// An urgent request that is refused more often loses its priority.
  private static let refusalsOfUrgent = 2

  private let ranking: RequestRanking
  private(set) var reserved: [Reserved] = []
  /// By index of place; empty until a request waits.
  private var lists: [Deque<DownloadRequest>] = []

  init(_ ranking: RequestRanking) { self.ranking = ranking }

  func isEmpty(_ place: Place) -> Bool { lists.isEmpty || lists[place.index].isEmpty }

  /// Whether requests wait that any share may take.
  var isForAny: Bool { waitingCount > reserved.count }
  /// Whether requests wait for room at the host.
  var isWaitedFor: Bool { waitingCount > 0 }
  var waitingCount: Int { reserved.count + lists.dropFirst().reduce(0) { $0 + $1.count } }
  // Closures: a key path into another module is interpreted at each use.
  var isEmpty: Bool { reserved.isEmpty && lists.allSatisfy { $0.isEmpty } }

  func first(in place: Place) -> DownloadRequest? { lists.isEmpty ? nil : lists[place.index].first }

  var foremost: RequestRank? {
    let firsts = lists.lazy.compactMap { $0.first }.map(ranking.rank).min()
    guard let other = reserved.first.map({ ranking.rank($0.request) }) else { return firsts }
    return firsts.map { min($0, other) } ?? other
  }

  mutating func add(_ request: DownloadRequest, to place: Place) {
    if lists.isEmpty { lists = Array(repeating: Deque(), count: Place.reserved(0).index) }
    guard case .fresh = place else { return lists[place.index].append(request) }
    let rank = ranking.rank(request)
    // Nearly always it belongs at the end.
    let last = lists[place.index].lastIndex { rank >= ranking.rank($0) }
    lists[place.index].insert(request, at: last.map { $0 + 1 } ?? 0)
  }

  static func place(of request: DownloadRequest, refused count: Int) -> Place {
    count == 0 || request.isFirst && count <= refusalsOfUrgent ? .refusedFirst : .refused
  }

  mutating func reserve(_ request: DownloadRequest, for share: Int, afterEnds ends: Int) {
    reserved.append(Reserved(share: share, ends: ends, request: request))
  }

  mutating func take(from place: Place) -> DownloadRequest? {
    if case .reserved(let index) = place { return reserved.remove(at: index).request }
    return lists.isEmpty ? nil : lists[place.index].popFirst()
  }

  mutating func withdraw(_ ids: Set<Int>) -> [DownloadRequest] {
    let withdrawn = (reserved.map(\.request) + lists.joined()).filter { ids.contains($0.id) }
    if withdrawn.isEmpty { return [] }
    reserved.removeAll { ids.contains($0.request.id) }
    for list in lists.indices { lists[list].removeAll { ids.contains($0.id) } }
    return withdrawn
  }

  mutating func failFast() {
    let all = reserved.map(\.request) + lists.joined()
    reserved = []
    lists = []
    for request in all { add(request, to: .failFast) }
  }
}
