import DequeModule
import DownloadModel

/// The requests that wait for one host, in lists, each of which is given out from its front.
struct HeldRequests {
  enum Place {
    /// The host was given up while they waited: they must fail fast.
    case failFast
    /// Left unanswered over one connection; must be asked over another. By its index.
    case reserved(Int)
    /// Not asked yet, in the run's order.
    case fresh
    /// Urgent ones that were refused a few times at most: behind urgent ones that were never asked, before the others.
    case refusedFirst
    /// They come behind those that were never asked, so that one file that is always refused holds up no other.
    case refused
    /// For a share that has an equal one in flight, or had one a moment ago.
    case keyed(Int)

    fileprivate var index: Int {
      switch self {
      case .failFast: 0
      case .fresh: 1
      case .refusedFirst: 2
      case .refused: 3
      // Unused: those are in `reserved`.
      case .reserved: 4
      case .keyed(let share): 5 + share
      }
    }
  }

  /// A request that must be asked over a connection of a certain share.
  struct Reserved {
    let share: Int
    /// That connection is free once so many files have ended on the share.
    let ends: Int
    let request: DownloadRequest
  }

  /// An urgent request that is refused more often is as any other that was refused.
  private static let refusalsOfUrgent = 2

  private let shares: Int
  private let ranking: RequestRanking
  private(set) var reserved: [Reserved] = []
  /// By the index of their place; none until something waits.
  private var lists: [Deque<DownloadRequest>] = []

  init(shares: Int, _ ranking: RequestRanking) { (self.shares, self.ranking) = (shares, ranking) }

  func isEmpty(_ place: Place) -> Bool { lists.isEmpty || lists[place.index].isEmpty }

  /// Whether requests wait that any share may take.
  var isForAny: Bool { !isEmpty(.fresh) || !isEmpty(.refused) || !isEmpty(.refusedFirst) }
  /// Whether requests wait until the host can take them. Those that are equal to one in flight need no connection.
  var isWaitedFor: Bool { isForAny || !reserved.isEmpty }
  /// How many requests wait for the host itself.
  var waitingCount: Int { reserved.count + lists.dropFirst().prefix(3).reduce(0) { $0 + $1.count } }
  var isEmpty: Bool { reserved.isEmpty && lists.allSatisfy(\.isEmpty) }

  func rank(in place: Place) -> RequestRank? { lists.isEmpty ? nil : lists[place.index].first.map(ranking.rank) }

  var foremost: RequestRank? {
    let firsts = lists.lazy.compactMap(\.first).map(ranking.rank).min()
    guard let other = reserved.first.map({ ranking.rank($0.request) }) else { return firsts }
    return firsts.map { min($0, other) } ?? other
  }

  mutating func add(_ request: DownloadRequest, to place: Place) {
    makeLists()
    guard case .fresh = place else { return lists[place.index].append(request) }
    let (rank, list) = (ranking.rank(request), place.index)
    var index = lists[list].count
    // Nearly always it is the last.
    while index > 0, rank < ranking.rank(lists[list][index - 1]) { index -= 1 }
    lists[list].insert(request, at: index)
  }

  private mutating func makeLists() {
    if lists.isEmpty { lists = Array(repeating: Deque(), count: Place.keyed(shares).index) }
  }

  /// Where a request waits that was refused so often.
  static func place(of request: DownloadRequest, refused count: Int) -> Place {
    request.isFirst && count <= refusalsOfUrgent ? .refusedFirst : .refused
  }

  mutating func reserve(_ request: DownloadRequest, for share: Int, afterEnds ends: Int) {
    makeLists()
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
    let all = Deque(reserved.map(\.request) + lists.joined())
    (reserved, lists) = ([], [])
    makeLists()
    lists[Place.failFast.index] = all
  }
}
