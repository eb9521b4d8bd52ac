import RunDoors

/// Decides from the head of a request whether it is answered: the page of another site, opened in the same browser, can
/// send requests here too.
struct Gate: Sendable {
  private let hosts: Set<String>
  private let allowedOrigins: Set<String>
  private let token: AccessToken

  init(_ settings: PageSettings, port: Int, _ token: AccessToken) {
    let own = ["127.0.0.1", "localhost", "[::1]"].map { "\($0):\(port)" }
    hosts = Set((own + settings.hosts).map { $0.lowercased() })
    allowedOrigins = Set(settings.allowedOrigins)
    self.token = token
  }

  /// The parts of a request that count here.
  struct Head: Sendable {
    var method = "GET"
    /// Without the query.
    var path: String
    /// All of them: there must be one.
    var hosts: [String]
    var origin: String?
    var authorization: String?
  }

  enum Verdict: Equatable, Sendable {
    /// - Parameter origin: whose page may read the answer (`Access-Control-Allow-Origin`).
    case answer(origin: String? = nil)
    /// A browser asks before it sends the request itself (CORS).
    case preflight(origin: String)
    case refuse(status: UInt, why: String)
    /// Answered late.
    case wrongToken
  }

  static let remoteCalls = "/jsonrpc"

  func verdict(_ head: Head) -> Verdict {
    // A site can have its own name resolve to this machine (DNS rebinding): its requests then name that site.
    guard head.hosts.count == 1, hosts.contains(head.hosts[0].lowercased()) else {
      return .refuse(status: 421, why: "this is not a name of this server: start dlm serve with --host NAME:PORT")
    }
    let isOwn = head.origin.map(isOwnOrigin) ?? true
    if head.path == Self.remoteCalls { return verdict(onCall: head, isOwn: isOwn) }
    guard isOwn else { return .refuse(status: 403, why: "a page of another site") }
    if head.path == "/" {
      return head.method == "GET" ? .answer() : .refuse(status: 405, why: "only GET")
    }
    guard head.path.hasPrefix("/api/") else { return .refuse(status: 404, why: "nothing is at this path") }
    let scheme = "Bearer "
    guard let given = head.authorization, given.hasPrefix(scheme) else {
      return .refuse(status: 401, why: "open the link that dlm serve has printed")
    }
    return isToken(given.dropFirst(scheme.count)) ? .answer() : .wrongToken
  }

  /// Its token is in its parameters.
  private func verdict(onCall head: Head, isOwn: Bool) -> Verdict {
    let origin = isOwn ? nil : head.origin
    if let origin, !allowedOrigins.contains("*"), !allowedOrigins.contains(origin) {
      return .refuse(status: 403, why: "start dlm serve with --allow-origin \(origin)")
    }
    switch (head.method, origin) {
    case ("POST", _): return .answer(origin: origin)
    case ("OPTIONS", let origin?): return .preflight(origin: origin)
    default: return .refuse(status: 405, why: "only POST")
    }
  }

  /// A reverse proxy may have TLS.
  private func isOwnOrigin(_ origin: String) -> Bool {
    let parts = origin.lowercased().split(separator: "://", maxSplits: 1)
    return parts.count == 2 && ["http", "https"].contains(parts[0]) && hosts.contains(String(parts[1]))
  }

  func isToken(_ given: some StringProtocol) -> Bool { token.isEqual(to: given) }
}
