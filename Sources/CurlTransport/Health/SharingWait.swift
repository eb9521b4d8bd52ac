/// Which transfers wait a moment for a connection that they may share (HTTP/2), by host. Times are in nanoseconds.
/// Until a connection is up, libcurl opens one for each transfer that begins. So the first to a host goes alone; others
/// wait, but not long: the server may speak only HTTP/1.1, where by CURLOPT_PIPEWAIT they would wait for whole files.
struct SharingWait {
  /// How many hosts are remembered, so that memory does not grow with their number.
  static let mostHosts = 1024

  private let longest: UInt64
  private var met: Set<String> = []
  /// Hosts to which the first transfer is under way: until when others wait for it.
  private var new: [String: UInt64] = [:]

  init(longest: Duration) { self.longest = UInt64(max(0, longest / .nanoseconds(1))) }

  mutating func mayBegin(_ host: String, at now: UInt64) -> Bool {
    if met.contains(host) { return true }
    if let end = new[host] { return now >= end }
    new[host] = now + longest
    return true
  }

  var deadline: UInt64? { new.values.min() }

  /// A transfer to the host has ended.
  /// - Returns: whether that ends the waits for it.
  mutating func meet(_ host: String) -> Bool {
    guard !new.isEmpty, new.removeValue(forKey: host) != nil else { return false }
    if met.count >= Self.mostHosts { met = [] }
    met.insert(host)
    return true
  }

  /// - Returns: the hosts whose waits end now, though no transfer has ended.
  mutating func overdue(at now: UInt64) -> [String] {
    let hosts = new.filter { $0.value <= now }.map(\.key)
    for host in hosts { _ = meet(host) }
    return hosts
  }
}
