import DequeModule
import DownloadModel

/// The requests that wait for one host, in lists that are given out from their fronts.
struct HeldRequests {
  enum Place {
    /// The host was given up while they waited: they must fail fast.
    case failFast
    /// Left unanswered over one connection; must be asked over another. By its index in `reserved`.
    case reserved(Int)
    /// Not asked yet, or left unanswered; in the run's order.
    case fresh
    /// Urgent and refused a few times at most, or begun before: behind urgent ones that were never asked.
    case refusedFirst
    /// Behind those that were never asked, so that a file that is always refused holds up no other.
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
    /// It goes once so many files have ended on the share, which frees that connection.
    let ends: Int
    let request: DownloadRequest
  }

  /// An urgent request that is refused more often is as any other.
  private static let refusalsOfUrgent = 2

  private let shares: Int
  private let ranking: RequestRanking
  private(set) var reserved: [Reserved] = []
  /// By index of place; none until something waits.
  private var lists: [Deque<DownloadRequest>] = []

  init(shares: Int, _ ranking: RequestRanking) {
    self.shares = shares
    self.ranking = ranking
  }

  func isEmpty(_ place: Place) -> Bool { lists.isEmpty || lists[place.index].isEmpty }

  /// Whether requests wait that any share may take.
  var isForAny: Bool { !isEmpty(.fresh) || !isEmpty(.refused) || !isEmpty(.refusedFirst) }
  /// Whether requests wait for room at the host. Those equal to one in flight need no connection.
  func isWaitedFor(besides isInFlight: (DownloadRequest) -> Bool) -> Bool {
    isForAny || !reserved.isEmpty
      || lists.dropFirst(Place.keyed(0).index).contains { $0.first.map { !isInFlight($0) } ?? false }
  }
  /// Without those that a share is waited for.
  var waitingCount: Int { reserved.count + lists.dropFirst().prefix(3).reduce(0) { $0 + $1.count } }
  var isEmpty: Bool { reserved.isEmpty && lists.allSatisfy(\.isEmpty) }

  func first(in place: Place) -> DownloadRequest? { lists.isEmpty ? nil : lists[place.index].first }

  func rank(in place: Place) -> RequestRank? { first(in: place).map(ranking.rank) }

  var foremost: RequestRank? {
    let firsts = lists.lazy.compactMap(\.first).map(ranking.rank).min()
    guard let other = reserved.first.map({ ranking.rank($0.request) }) else { return firsts }
    return firsts.map { min($0, other) } ?? other
  }

  mutating func add(_ request: DownloadRequest, to place: Place) {
    if lists.isEmpty { lists = Array(repeating: Deque(), count: Place.keyed(shares).index) }
    guard case .fresh = place else { return lists[place.index].append(request) }
    let rank = ranking.rank(request)
    let list = place.index
    var index = lists[list].count
    // Nearly always it is the last.
    while index > 0, rank < ranking.rank(lists[list][index - 1]) { index -= 1 }
    lists[list].insert(request, at: index)
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
