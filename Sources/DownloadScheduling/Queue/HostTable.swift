import DownloadModel

/// The hosts of a run, by host and port, with their held requests and the pending quota changes for the transports.
struct HostTable {
  /// Hosts kept although they have no state worth remembering.
  private static let remembered = 64

  /// Polling interval: whether another process wants the slot of an idle connection.
  private static let idlePause = Duration.milliseconds(20)

  /// The connections, idle ones included, that each share may keep to a host from now on; `nil` for no limit.
  typealias QuotaChange = (host: String, quotas: [Int]?)

  private let ranking: RequestRanking
  private let ceiling: Int
  private let lowered: [String: Int]
  private let opening: Int
  private let shares: Int
  private let rates: RequestRates
  private let sharing: HostSharing?
  private var hosts: [String: QueuedHost] = [:]
  /// Requests that a host holds or that wait for a retry.
  private(set) var held = 0
  /// The urgent ones among them.
  private(set) var heldUrgent = 0
  private var quotaChanges: [QuotaChange] = []
  /// Whether some host may be unknown, so that each answer must be reported.
  private(set) var hasUnknown = false

  init(
    ceiling: Int, lowered: [String: Int], opening: Int, shares: Int, ranking: RequestRanking,
    rates: RequestRates = RequestRates(), sharing: HostSharing? = nil
  ) {
    self.ceiling = ceiling
    self.lowered = lowered
    self.shares = shares
    self.rates = rates
    self.ranking = ranking
    self.sharing = sharing
    self.opening = opening
  }

  var all: some Collection<QueuedHost> { hosts.values }

  subscript(name: String) -> QueuedHost? { hosts[name] }

  mutating func host(of request: DownloadRequest) -> QueuedHost {
    let name = request.source.hostAndPort
    if let host = hosts[name] { return host }
    let limiter = HostLimiter(
      ceiling: min(lowered[name] ?? ceiling, request.source.scheme.mostAtOnce), opening: opening)
    hasUnknown = true
    let host = QueuedHost(
      limiter, shares: shares, name, ranking, sharing: sharing, together: ceiling,
      interval: rates.interval(of: request.source))
    hosts[name] = host
    return host
  }

  /// A host answered a request.
  mutating func answered(at name: String) {
    hosts[name]?.limiter.answered()
    hasUnknown = hosts.values.contains { $0.limiter.isUnknown }
  }

  /// Requests that may wait only for the first answers of their hosts.
  var heldBack: Int { hasUnknown ? held : 0 }

  /// So memory does not grow with the number of hosts.
  mutating func forget(_ host: QueuedHost) {
    if hosts.count > Self.remembered, host.limiter.isPristine, host.requests.isEmpty { hosts[host.name] = nil }
  }

  // MARK: Held requests

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

  // MARK: Transports and other processes

  /// Records the quotas of a host's shares for the transports, if they have changed.
  /// - Parameter answering: connections that the host answers on each loop, if known.
  mutating func noteQuotas(of host: QueuedHost, answering: [Int]? = nil) {
    guard let quotas = host.newQuotas(answering: answering) else { return }
    quotaChanges.append((host.name, quotas))
  }

  mutating func takeQuotaChanges() -> [QuotaChange] {
    defer { quotaChanges = [] }
    return quotaChanges
  }

  /// Writes changed notes for other processes, and gives up idle connections whose slots they want. Must follow every
  /// change, after the lanes received their requests.
  /// - Parameter lanes: how many lanes could take a request at once.
  /// - Returns: whether time matters: other processes run, or might want idle connections.
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

  /// When idle connections are checked again, whose slots other processes may want.
  var looksAtIdle: Duration? { sharing?.looksAtIdle }

  /// The hosts that keep requests waiting, the one with the most first. For a display.
  func waits(at now: Duration) -> [HostWait] {
    if held == 0 { return [] }
    let full = hosts.values.filter { $0.requests.waitingCount > 0 && !$0.hasRoom(at: now) }
    let waits = full.map { host in
      let pause = host.limiter.opensAt - now
      return HostWait(
        host: host.name, limit: max(1, min(host.limit, host.limiter.room)), isLearnt: host.isLearnt,
        waiting: host.requests.waitingCount, interval: host.interval,
        pause: pause > .zero ? pause : nil, isSpent: host.limiter.opensAt > host.limiter.cooldownUntil)
    }
    return waits.sorted { $0.waiting == $1.waiting ? $0.host < $1.host : $0.waiting > $1.waiting }
  }

  /// When the first cooldown of a host with waiting requests ends, or a shared host is checked again.
  func nextCooldownEnd(after now: Duration) -> Duration? {
    hosts.values.lazy.filter { !$0.requests.isEmpty }.map { max($0.limiter.opensAt, $0.looksAgain) }
      .filter { $0 > now }.min()
  }
}
