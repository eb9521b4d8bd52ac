import DequeModule
import DownloadModel

/// One host as the queue sees it: which requests wait for it, how many downloads each share has in flight to it, and
/// how many connections each share may keep to it.
///
/// The number of downloads that the host takes at a time is divided among the shares, so that idle connections of one
/// loop never add to another's beyond the host's limit (HTTP rule 37). A host that takes only a few is asked on the
/// loops where it answers already: on a loop without a connection to it, a new connection would have to replace another
/// loop's.
///
/// A class, because each file reads and changes its host twice. It belongs to one `RequestQueueState` and is not
/// shared.
final class QueuedHost {
  /// A request that must be asked over a connection of a certain share.
  struct Reserved {
    let share: Int
    /// That connection is free once so many files have ended on the share.
    let ends: Int
    let request: DownloadRequest
  }

  /// Host and port, as in `Address.hostAndPort`.
  let name: String
  var limiter: HostLimiter
  private let ranking: RequestRanking

  /// Requests that a certain share should take.
  private struct Keyed {
    /// For this share alone, because it has an equal one in flight.
    var bound: Deque<DownloadRequest> = []
    /// For another share only if the host gives this one no connection: this share had an equal one a moment ago.
    var preferred: Deque<DownloadRequest> = []
  }

  // MARK: Requests that wait

  /// Left unanswered over one connection; must be asked over another.
  private(set) var reserved: [Reserved] = []
  /// Not asked yet, in the run's order.
  private var held: Deque<DownloadRequest> = []
  /// Refused once. They come behind those that were never asked, so that one file that is always refused holds up no
  /// other.
  private var refused: Deque<DownloadRequest> = []
  /// Urgent ones that were refused a few times at most: they come behind urgent ones that were never asked, and before
  /// the others.
  private var refusedFirst: Deque<DownloadRequest> = []
  /// Equal to a request that a share has in flight, or had a moment ago; by share, and empty until there is one.
  private var keyed: [Keyed] = []
  /// Requests that must fail fast: the host was given up while they waited.
  private var failFast: Deque<DownloadRequest> = []

  // MARK: Shares

  /// Downloads in flight, by share.
  private(set) var inUse: [Int]
  /// Files that ended, well or badly, by share.
  private(set) var ends: [Int]
  /// Which share gets the odd download. It differs from host to host, so that hosts that take one connection each are
  /// spread over the shares.
  private let home: Int
  /// How many connections each share may have, where the host takes only a few.
  private var parts: [Int]?
  /// The quotas that the transports were last told.
  private var told: [Int]?

  /// With so few connections, it matters on which loop they are.
  private static let few = 8

  /// An urgent request that is refused more often is as any other that was refused.
  private static let refusalsOfUrgent = 2

  init(_ limiter: HostLimiter, shares: Int, _ name: String, _ ranking: RequestRanking = RequestRanking()) {
    self.name = name
    self.ranking = ranking
    self.limiter = limiter
    inUse = Array(repeating: 0, count: shares)
    ends = inUse
    // Not by hashValue, which differs from run to run.
    home = name.utf8.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xFFFF } % shares
  }

  var ended: Int { ends.reduce(0, +) }

  // MARK: What begins and ends

  /// Whether one more download may begin now.
  func hasRoom(at now: Duration) -> Bool { limiter.hasRoom(at: now) }

  func begin(_ share: Int) {
    inUse[share] += 1
    limiter.begin()
  }

  /// Notes that a download is no longer in flight. The limiter is told separately what that means for the host.
  func end(_ share: Int) {
    inUse[share] -= 1
    ends[share] += 1
  }

  /// Notes that a further connection of a file has ended.
  func release(_ share: Int) { inUse[share] -= 1 }

  // MARK: Holding requests, and giving them out

  /// The list in which a request waits.
  enum Place {
    case failFast, held, refused, refusedFirst
    case reserved(Int)
    case bound(to: Int), preferred(by: Int)
  }

  var hasFailFast: Bool { !failFast.isEmpty }
  /// Whether requests wait that any share may take.
  var isHeldForAny: Bool { !held.isEmpty || !refused.isEmpty || !refusedFirst.isEmpty }
  /// Whether requests that were never asked wait; a new one must not overtake them.
  var hasHeld: Bool { !held.isEmpty }
  /// Whether requests wait until the host can take them. Bound requests wait for equal ones and need no connection.
  var isWaitedFor: Bool { isHeldForAny || !reserved.isEmpty || keyed.contains { !$0.preferred.isEmpty } }
  /// How many requests wait for the host itself.
  var waitingCount: Int {
    held.count + refused.count + refusedFirst.count + reserved.count
      + keyed.reduce(0) { $0 + $1.preferred.count }
  }
  /// Whether anything waits here at all.
  var isHeld: Bool { isWaitedFor || hasFailFast || hasBound }
  var hasBound: Bool { keyed.contains { !$0.bound.isEmpty } }

  /// The rank of the request that comes first of those that wait.
  var foremost: RequestRank {
    var first = RequestRank.last
    func consider(_ request: DownloadRequest?) {
      if let request { first = min(first, ranking.rank(request)) }
    }
    consider(failFast.first)
    consider(reserved.first?.request)
    consider(held.first)
    consider(refused.first)
    consider(refusedFirst.first)
    for one in keyed {
      consider(one.bound.first)
      consider(one.preferred.first)
    }
    return first
  }

  /// Where the next request waits that this share should take.
  func place(of share: Int) -> (place: Place, rank: RequestRank)? {
    if keyed.isEmpty { return nil }
    let bound = keyed[share].bound.first.map { (place: Place.bound(to: share), rank: ranking.rank($0)) }
    let preferred = keyed[share].preferred.first.map {
      (place: Place.preferred(by: share), rank: ranking.rank($0))
    }
    guard let bound, let preferred else { return bound ?? preferred }
    return bound.rank < preferred.rank ? bound : preferred
  }

  /// Where the next request waits that any share may take.
  func placeForAny(besides share: Int) -> (place: Place, rank: RequestRank)? {
    if triesAgain, !refused.isEmpty { return (.refused, .last) }
    var first = held.first.map { (place: Place.held, rank: ranking.rank($0)) }
    if first?.rank.isFirst != true, let urgent = refusedFirst.first {
      first = (.refusedFirst, ranking.rank(urgent))
    }
    for other in keyed.indices where other != share {
      // The host gives that share no connection any more.
      guard let request = keyed[other].preferred.first, quota(of: other) == 0 else { continue }
      let rank = ranking.rank(request)
      if let first, first.rank < rank { continue }
      first = (.preferred(by: other), rank)
    }
    // The refused ones come last.
    return first ?? (refused.isEmpty ? nil : (.refused, .last))
  }

  /// Whether what was refused goes first: after every second refusal, as long as the host serves nothing. A host that
  /// refuses each request once, such as one that makes its files when they are first asked for, would else be given up
  /// over files that were never asked twice.
  private var triesAgain: Bool { limiter.refusals > 0 && limiter.refusals % 2 == 0 }

  /// Holds a request that has not been asked yet.
  func hold(_ request: DownloadRequest) {
    let rank = ranking.rank(request)
    var index = held.count
    // Nearly always it is the last.
    while index > 0, rank < ranking.rank(held[index - 1]) { index -= 1 }
    if index == held.count { held.append(request) } else { held.insert(request, at: index) }
  }
  /// Holds a request that must be asked before all others that are held.
  func holdFirst(_ request: DownloadRequest) { held.prepend(request) }
  /// - Parameter count: how often it was refused.
  func holdRefused(_ request: DownloadRequest, _ count: Int = 1) {
    if request.isFirst, count <= Self.refusalsOfUrgent {
      refusedFirst.append(request)
    } else {
      refused.append(request)
    }
  }
  func reserve(_ request: DownloadRequest, for share: Int, afterEnds ends: Int) {
    reserved.append(Reserved(share: share, ends: ends, request: request))
  }

  func take(from place: Place) -> DownloadRequest? {
    switch place {
    case .failFast: failFast.popFirst()
    case .held: held.popFirst()
    case .refused: refused.popFirst()
    case .refusedFirst: refusedFirst.popFirst()
    case .reserved(let index): reserved.remove(at: index).request
    case .bound(let share): keyed[share].bound.popFirst()
    case .preferred(let share): keyed[share].preferred.popFirst()
    }
  }

  /// Holds a request for the share that has an equal one in flight.
  func bind(_ request: DownloadRequest, to share: Int) {
    if keyed.isEmpty { keyed = Array(repeating: Keyed(), count: inUse.count) }
    keyed[share].bound.append(request)
  }

  /// Holds a request preferably for the share that had an equal one.
  func prefer(_ request: DownloadRequest, by share: Int) {
    if keyed.isEmpty { keyed = Array(repeating: Keyed(), count: inUse.count) }
    keyed[share].preferred.append(request)
  }

  /// A share has no equal request in flight any more, so other shares may take the requests that waited for it.
  func unbind(_ request: DownloadRequest, from share: Int) {
    guard keyed.indices.contains(share), !keyed[share].bound.isEmpty else { return }
    let number = KeyHomes.number(of: request)
    keyed[share].preferred += keyed[share].bound.filter { KeyHomes.number(of: $0) == number }
    keyed[share].bound.removeAll { KeyHomes.number(of: $0) == number }
  }

  /// Takes out requests that wait and are wanted no more.
  func withdraw(_ ids: Set<Int>) -> [DownloadRequest] {
    var withdrawn: [DownloadRequest] = []
    func remain(_ request: DownloadRequest) -> Bool {
      if ids.contains(request.id) { withdrawn.append(request) }
      return !ids.contains(request.id)
    }
    reserved = reserved.filter { remain($0.request) }
    (held, refused) = (held.filter(remain), refused.filter(remain))
    refusedFirst = refusedFirst.filter(remain)
    failFast = failFast.filter(remain)
    for index in keyed.indices {
      keyed[index].bound = keyed[index].bound.filter(remain)
      keyed[index].preferred = keyed[index].preferred.filter(remain)
    }
    return withdrawn
  }

  /// The host is given up: all requests that wait for it fail fast.
  func giveUp(_ policy: RetryPolicy) {
    failFast += reserved.map(\.request) + keyed.flatMap { $0.bound + $0.preferred } + held + refusedFirst
    failFast += refused
    (reserved, keyed, held, refused, refusedFirst) = ([], [], [], [], [])
    limiter.giveUp(policy)
  }

  /// Whether the host can be forgotten without loss.
  var isForgettable: Bool { limiter.isPristine && !isHeld }

  // MARK: Dividing the host's connections

  /// Whether the limit was learnt from the host, and is not the user's.
  private var isLearnt: Bool { limiter.limit < limiter.ceiling }

  /// How many of the host's connections this share may have.
  func quota(of share: Int) -> Int {
    let shares = inUse.count
    if let parts { return parts[share] }
    let distance = (share - home + shares) % shares
    return limiter.limit / shares + (distance < limiter.limit % shares ? 1 : 0)
  }

  func hasQuota(_ share: Int) -> Bool { inUse[share] < quota(of: share) }

  /// Whether a file of this share may have one more connection, where nothing waits for the host. Which share has the
  /// odd one decides who begins the next file, and not into how many parts one is split. But where the host's answers
  /// said how many it takes, each loop was told its number.
  func mayHaveFurther(_ share: Int) -> Bool { !isLearnt || hasQuota(share) }

  /// Computes the quotas after a change of the limit, or of their division.
  /// - Parameter answering: how many connections the host answers on each loop, if that is known.
  /// - Returns: the quotas if they have changed; an inner nil removes the limit.
  func newQuotas(answering: [Int]? = nil) -> [Int]?? {
    if !isLearnt, told == nil, parts == nil { return nil }
    let known = answering.flatMap { $0.count == inUse.count ? $0 : nil }
    if known != nil || parts?.reduce(0, +) != limiter.limit {
      if inUse.count > 1, isLearnt, limiter.limit <= Self.few {
        // The connection that the host refused came on top of those in flight.
        let stays = parts.flatMap { $0.reduce(0, +) <= limiter.limit ? $0 : nil }
        parts = Self.parts(of: limiter.limit, like: known ?? stays ?? inUse)
      } else {
        parts = nil
      }
    }
    let quotas = isLearnt || parts != nil ? inUse.indices.map(quota) : nil
    guard quotas != told else { return nil }
    told = quotas
    return .some(quotas)
  }

  /// Divides `limit` like `others`: an excess is taken where there is least, and what is missing is added where there
  /// is most.
  static func parts(of limit: Int, like others: [Int]) -> [Int] {
    var parts = others
    var excess = parts.reduce(0, +) - limit
    while excess > 0, let least = parts.indices.filter({ parts[$0] > 0 }).min(by: { parts[$0] < parts[$1] }) {
      let less = min(excess, parts[least])
      parts[least] -= less
      excess -= less
    }
    if excess < 0, let most = parts.indices.max(by: { parts[$0] < parts[$1] }) { parts[most] -= excess }
    return parts
  }

  /// Moves a place to a share, where the host has room and all shares with a place to spare are busy.
  /// - Returns: false if one that is not busy has it.
  func takeOver(for share: Int, isBusy: (Int) -> Bool) -> Bool {
    let spare = inUse.indices.filter { hasQuota($0) }
    guard limiter.inUse < limiter.limit, spare.allSatisfy(isBusy) else { return false }
    var parts = inUse.indices.map(quota)
    // Once is enough, unless further connections of its files have it above its quota.
    while parts[share] <= inUse[share] {
      if let other = spare.max(by: { parts[$0] - inUse[$0] < parts[$1] - inUse[$1] }) { parts[other] -= 1 }
      parts[share] += 1
    }
    self.parts = parts
    return true
  }
}
