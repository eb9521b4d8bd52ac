import DownloadModel

/// The hosts of a run, by host and port, how many requests they hold, and what the transports must be told of them.
struct HostTable {
  /// So many hosts are kept even if nothing needs to be remembered of them.
  private static let remembered = 64

  /// How many connections to a host, idle ones included, each share may keep from now on; nil for no limit.
  struct QuotaChange: Equatable {
    let host: String
    let quotas: [Int]?
  }

  private let ranking: RequestRanking
  private let ceiling: Int
  private let shares: Int
  private var hosts: [String: QueuedHost] = [:]
  /// Requests that are held by a host, or rest.
  private(set) var held = 0
  /// Those of them that are urgent.
  private(set) var heldUrgent = 0
  /// What the transports were not told yet, the earliest first.
  private var quotaChanges: [QuotaChange] = []

  init(ceiling: Int, shares: Int, ranking: RequestRanking) {
    (self.ceiling, self.shares, self.ranking) = (ceiling, shares, ranking)
  }

  var all: some Collection<QueuedHost> { hosts.values }

  subscript(name: String) -> QueuedHost? { hosts[name] }

  func known(_ request: DownloadRequest) -> QueuedHost? { hosts[request.address.hostAndPort] }

  mutating func host(of request: DownloadRequest) -> QueuedHost {
    let name = request.address.hostAndPort
    if let host = hosts[name] { return host }
    let host = QueuedHost(HostLimiter(ceiling: ceiling), shares: shares, name, ranking)
    hosts[name] = host
    return host
  }

  /// So memory does not grow with the number of hosts.
  mutating func forget(_ host: QueuedHost) {
    if hosts.count > Self.remembered, host.isForgettable { hosts[host.name] = nil }
  }

  // MARK: What is held

  mutating func hold(_ request: DownloadRequest, _ place: HeldRequests.Place, at host: QueuedHost) {
    host.requests.add(request, to: place)
    count(request)
  }

  mutating func take(from place: HeldRequests.Place, at host: QueuedHost) -> DownloadRequest? {
    let request = host.requests.take(from: place)
    if let request { uncount(request) }
    return request
  }

  mutating func count(_ request: DownloadRequest) {
    held += 1
    if request.isFirst { heldUrgent += 1 }
  }

  mutating func uncount(_ request: DownloadRequest) {
    held -= 1
    if request.isFirst { heldUrgent -= 1 }
  }

  mutating func withdraw(_ ids: Set<Int>) -> [DownloadRequest] {
    let withdrawn = hosts.values.flatMap { $0.requests.withdraw(ids) }
    for request in withdrawn { uncount(request) }
    return withdrawn
  }

  // MARK: What others must know

  /// Notes the quotas of a host's shares for the transports, if they have changed.
  /// - Parameter answering: how many connections the host answers on each loop, if that is known.
  mutating func noteQuotas(of host: QueuedHost, answering: [Int]? = nil) {
    guard let quotas = host.newQuotas(answering: answering) else { return }
    quotaChanges.append(QuotaChange(host: host.name, quotas: quotas))
  }

  mutating func takeQuotaChanges() -> [QuotaChange] {
    if quotaChanges.isEmpty { return [] }
    defer { quotaChanges = [] }
    return quotaChanges
  }

  /// The hosts that keep requests waiting, the one with most of them first. For a display.
  func waits(at now: Duration) -> [HostWait] {
    if held == 0 { return [] }
    var waits: [HostWait] = []
    for host in hosts.values where host.requests.isWaitedFor && !host.limiter.hasRoom(at: now) {
      let pause = host.limiter.cooldownUntil - now
      waits.append(
        HostWait(
          host: host.name, limit: host.limiter.limit, isLearnt: host.isLearnt,
          waiting: host.requests.waitingCount, pause: pause > .zero ? pause : nil))
    }
    return waits.sorted { $0.waiting == $1.waiting ? $0.host < $1.host : $0.waiting > $1.waiting }
  }

  /// When the first cooldown ends that keeps requests waiting; nil for none.
  func nextCooldownEnd(after now: Duration) -> Duration? {
    hosts.values.lazy.filter { !$0.requests.isEmpty && $0.limiter.cooldownUntil > now }
      .map(\.limiter.cooldownUntil).min()
  }
}
