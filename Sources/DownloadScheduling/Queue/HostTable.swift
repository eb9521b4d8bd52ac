import DownloadModel

/// The hosts of a run, by host and port, and how many requests they hold.
struct HostTable {
  /// So many hosts are kept even if nothing needs to be remembered of them.
  private static let remembered = 64

  let ranking: RequestRanking
  private let ceiling: Int
  private let shares: Int
  private var hosts: [String: QueuedHost] = [:]
  /// Requests that are held by a host, or rest.
  private(set) var held = 0
  /// Those of them that are urgent.
  private(set) var heldUrgent = 0

  /// - Parameter ceiling: downloads from one host at a time, at most.
  init(ceiling: Int, shares: Int, ranking: RequestRanking) {
    (self.ceiling, self.shares, self.ranking) = (ceiling, shares, ranking)
  }

  var all: some Collection<QueuedHost> { hosts.values }

  subscript(name: String) -> QueuedHost? { hosts[name] }

  /// That of a request, if it is known.
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

  mutating func count(_ request: DownloadRequest) {
    held += 1
    if request.isFirst { heldUrgent += 1 }
  }

  mutating func uncount(_ request: DownloadRequest) {
    held -= 1
    if request.isFirst { heldUrgent -= 1 }
  }

  /// The hosts that keep requests waiting, the one with most of them first. For a display.
  func waits(at now: Duration) -> [HostWait] {
    if held == 0 { return [] }
    var waits: [HostWait] = []
    for host in hosts.values where host.isWaitedFor && !host.hasRoom(at: now) {
      let pause = host.limiter.cooldownUntil - now
      waits.append(
        HostWait(
          host: host.name, limit: host.limiter.limit, isLearnt: host.limiter.limit < host.limiter.ceiling,
          waiting: host.waitingCount, pause: pause > .zero ? pause : nil))
    }
    return waits.sorted { $0.waiting == $1.waiting ? $0.host < $1.host : $0.waiting > $1.waiting }
  }

  /// When the first cooldown ends that keeps requests waiting; nil for none.
  func nextCooldownEnd(after now: Duration) -> Duration? {
    hosts.values.lazy.filter { ($0.isWaitedFor || $0.hasBound) && $0.limiter.cooldownUntil > now }
      .map(\.limiter.cooldownUntil).min()
  }
}
