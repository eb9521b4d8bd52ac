import DownloadModel

/// The hosts of a run, by host and port, how many requests they hold, and what the transports must be told of them.
struct HostTable {
  /// Hosts kept although nothing needs to be remembered of them.
  private static let remembered = 64

  /// Between two looks whether another process wants the place of an idle connection.
  private static let idlePause = Duration.milliseconds(20)

  /// How many connections, idle ones included, each share may keep to a host from now on; nil for no limit.
  typealias QuotaChange = (host: String, quotas: [Int]?)

  private let ranking: RequestRanking
  private let ceiling: Int
  private let lowered: [String: Int]
  private let opening: Int
  private let shares: Int
  private let sharing: HostSharing?
  private var hosts: [String: QueuedHost] = [:]
  /// Requests that are held by a host, or rest.
  private(set) var held = 0
  /// Of these, the urgent ones.
  private(set) var heldUrgent = 0
  private var quotaChanges: [QuotaChange] = []
  /// Whether some host may be unknown, so that each answer is to be reported.
  private(set) var hasUnknown = false

  init(
    ceiling: Int, lowered: [String: Int], opening: Int, shares: Int, ranking: RequestRanking,
    sharing: HostSharing? = nil
  ) {
    self.ceiling = ceiling
    self.lowered = lowered
    self.shares = shares
    self.ranking = ranking
    self.sharing = sharing
    self.opening = opening
  }

  var all: some Collection<QueuedHost> { hosts.values }

  subscript(name: String) -> QueuedHost? { hosts[name] }

  func known(_ request: DownloadRequest) -> QueuedHost? { hosts[request.source.hostAndPort] }

  mutating func host(of request: DownloadRequest) -> QueuedHost {
    let name = request.source.hostAndPort
    if let host = hosts[name] { return host }
    let limiter = HostLimiter(ceiling: lowered[name] ?? ceiling, opening: opening)
    hasUnknown = true
    let host = QueuedHost(limiter, shares: shares, name, ranking, sharing: sharing, together: ceiling)
    hosts[name] = host
    return host
  }

  /// A host answered a request.
  mutating func answered(at name: String) {
    hosts[name]?.limiter.answered()
    hasUnknown = hosts.values.contains { $0.limiter.isUnknown }
  }

  /// Requests that may only wait for the first answers of their hosts.
  var heldBack: Int { hasUnknown ? held : 0 }

  /// So memory does not grow with the number of hosts.
  mutating func forget(_ host: QueuedHost) {
    if hosts.count > Self.remembered, host.limiter.isPristine, host.requests.isEmpty { hosts[host.name] = nil }
  }

  // MARK: What is held

  mutating func hold(_ request: DownloadRequest, _ place: HeldRequests.Place, at host: QueuedHost) {
    host.requests.add(request, to: place)
    count(request)
  }

  mutating func take(from place: HeldRequests.Place, at host: QueuedHost) -> DownloadRequest? {
    let request = host.requests.take(from: place)
    if let request { count(request, by: -1) }
    return request
  }

  mutating func count(_ request: DownloadRequest, by one: Int = 1) {
    held += one
    if request.isFirst { heldUrgent += one }
  }

  mutating func withdraw(_ ids: Set<Int>) -> [DownloadRequest] {
    let withdrawn = hosts.values.flatMap { $0.requests.withdraw(ids) }
    for request in withdrawn { count(request, by: -1) }
    return withdrawn
  }

  // MARK: What others must know

  /// Notes the quotas of a host's shares for the transports, if they have changed.
  /// - Parameter answering: how many connections the host answers on each loop, if that is known.
  mutating func noteQuotas(of host: QueuedHost, answering: [Int]? = nil) {
    guard let quotas = host.newQuotas(answering: answering) else { return }
    quotaChanges.append((host.name, quotas))
  }

  mutating func takeQuotaChanges() -> [QuotaChange] {
    defer { quotaChanges = [] }
    return quotaChanges
  }

  /// Tells other processes what has changed, and gives them the places of idle connections that they want. Must follow
  /// every change, after the lanes were handed what they can have.
  /// - Parameter lanes: how many could take a request at once.
  /// - Returns: whether time matters: there are others, or idle connections that others may want.
  mutating func tellOthers(lanes: Int, at now: Duration) -> Bool {
    guard let sharing else { return false }
    if let time = sharing.looksAtIdle, time <= now {
      sharing.looksAtIdle = nil
      for host in hosts.values where host.hasIdle { host.giveUpIdle(at: now) }
    }
    if sharing.touched.isEmpty { return false }
    let hasCompany = sharing.notes.hasCompany
    for host in sharing.touched {
      if hasCompany { noteQuotas(of: host) }
      host.tellOthers(lanes: hasCompany ? lanes : nil)
      if host.hasIdle { sharing.looksAtIdle = sharing.looksAtIdle ?? now + Self.idlePause }
    }
    sharing.touched.removeAll(keepingCapacity: true)
    return hasCompany || sharing.looksAtIdle != nil
  }

  /// When idle connections are looked at again, whose places other processes may want.
  var looksAtIdle: Duration? { sharing?.looksAtIdle }

  /// The hosts that keep requests waiting, the one with most of them first. For a display.
  func waits(at now: Duration) -> [HostWait] {
    if held == 0 { return [] }
    let full = hosts.values.filter { $0.requests.waitingCount > 0 && !$0.hasRoom(at: now) }
    let waits = full.map { host in
      let pause = host.limiter.opensAt - now
      return HostWait(
        host: host.name, limit: max(1, min(host.limit, host.limiter.room)), isLearnt: host.isLearnt,
        waiting: host.requests.waitingCount,
        pause: pause > .zero ? pause : nil, isSpent: host.limiter.opensAt > host.limiter.cooldownUntil)
    }
    return waits.sorted { $0.waiting == $1.waiting ? $0.host < $1.host : $0.waiting > $1.waiting }
  }

  /// When the first cooldown ends that keeps requests waiting, or a host is looked at again that others use.
  func nextCooldownEnd(after now: Duration) -> Duration? {
    hosts.values.lazy.filter { !$0.requests.isEmpty }.map { max($0.limiter.opensAt, $0.looksAgain) }
      .filter { $0 > now }.min()
  }
}
