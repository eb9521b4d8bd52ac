/// Which transfers wait briefly for a connection that they may share (HTTP/2), by host. Times are in nanoseconds.
///
/// Until a connection is up, libcurl opens one for each transfer that starts. So the first transfer to a host goes
/// alone and others wait, but not long: the server may support only HTTP/1.1, where CURLOPT_PIPEWAIT would make them
/// wait for whole files.
struct SharingWait {
  /// The most hosts that are remembered, so that memory does not grow with their number.
  static let mostHosts = 1024

  private let longest: UInt64
  private var met: Set<String> = []
  /// Hosts whose first transfer is in flight, with the time until which others wait for it.
  private var new: [String: UInt64] = [:]

  init(longest: Duration) { self.longest = UInt64(max(0, longest / .nanoseconds(1))) }

  mutating func mayBegin(_ host: String, at now: UInt64) -> Bool {
    if met.contains(host) { return true }
    if let end = new[host] { return now >= end }
    new[host] = now + longest
    return true
  }

  var deadline: UInt64? { new.values.min() }

  /// Records that a transfer to the host has ended.
  /// - Returns: whether that ends the waits for it.
  mutating func meet(_ host: String) -> Bool {
    guard !new.isEmpty, new.removeValue(forKey: host) != nil else { return false }
    if met.count >= Self.mostHosts { met = [] }
    met.insert(host)
    return true
  }

  /// - Returns: the hosts whose waits end now although no transfer has ended.
  mutating func overdue(at now: UInt64) -> [String] {
    let hosts = new.filter { $0.value <= now }.map(\.key)
    for host in hosts { _ = meet(host) }
    return hosts
  }
}
