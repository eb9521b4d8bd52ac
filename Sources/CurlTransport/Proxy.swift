import CCurl
package import DownloadModel
import Synchronization

/// A proxy for all transports of a run. Many tries of a wrong login would lock the user's account; so until the proxy
/// has accepted the login once, one transfer asks at a time, and after a refusal none.
package final class Proxy: Sendable {
  package let address: ProxyAddress
  private let isOpen: Atomic<Bool>
  private let inUse: Atomic<Int>
  private let access = Waiters(Access.untried)

  private enum Access {
    case untried
    case asking
    case open
    case refused(DownloadError)
  }

  /// The schemes that dlm can use, as bits of CURLAUTH_….
  static let schemes = dlm_auth_basic | dlm_auth_digest

  package init(_ address: ProxyAddress) {
    self.address = address
    isOpen = Atomic(!address.hasLogin)
    inUse = Atomic(Self.schemes)
  }

  /// Which one is used for which addresses. Equal addresses give one `Proxy`, whose login is tried once.
  package static func routes(http: ProxyAddress?, https: ProxyAddress?) -> [Address.Scheme: Proxy] {
    let first = http.map(Proxy.init)
    return [.http: first, .https: https == http ? first : https.map(Proxy.init)].compactMapValues(\.self)
  }

  /// CURLOPT_PROXYAUTH. With both schemes, libcurl asks without a login first and uses the better of those offered.
  /// Once the scheme is known, the login is sent at once, which saves each connection a round trip.
  var authentication: Int { inUse.load(ordering: .relaxed) }

  /// - Returns: whether this transfer tries the login; then `left` must be called when it has ended.
  /// - Throws: the proxy's earlier refusal of the login, or `.cancelled`.
  nonisolated(nonsending) func enter() async throws(DownloadError) -> Bool {
    if isOpen.load(ordering: .relaxed) { return false }
    let before = await access.wait { access -> Access? in
      if case .asking = access { return nil }
      defer { if case .untried = access { access = .asking } }
      return access
    }
    switch before {
    case .untried: return true
    case .open: return false
    case .refused(let error): throw error
    case .asking, nil: throw .cancelled
    }
  }

  func left() {
    access.withLock { access in
      if case .asking = access { access = .untried }
    }
  }

  /// - Parameter offered: what it offered before (CURLINFO_PROXYAUTH_AVAIL); 0 if it required no login.
  func letThrough(offered: Int) {
    guard !isOpen.load(ordering: .relaxed) else { return }
    if let scheme = [dlm_auth_digest, dlm_auth_basic].first(where: { offered & $0 != 0 }) {
      inUse.store(scheme, ordering: .relaxed)
    }
    decide(.open)
  }

  /// The refusal holds for the rest of the run.
  func refuse(_ error: DownloadError) {
    if address.hasLogin { decide(.refused(error)) }
  }

  private func decide(_ decision: Access) {
    access.withLock { access in
      if case .refused = access { return }
      access = decision
      let isOpen = if case .open = decision { true } else { false }
      self.isOpen.store(isOpen, ordering: .relaxed)
    }
  }
}

/// `[scheme://][user:password@]host[:port]`, with the login percent-encoded where needed.
package struct ProxyAddress: Sendable, Hashable {
  /// With `socks4` and `socks5` this machine looks up the servers' names, with `socks4a` and `socks5h` the proxy does.
  package enum Scheme: String, Sendable, CaseIterable {
    case http, https, socks4, socks4a, socks5, socks5h

    fileprivate var port: UInt16 { self == .https ? 443 : 1080 }
  }

  package let scheme: Scheme
  /// Without the brackets of an IPv6 address.
  package let host: String
  package let port: UInt16
  package let hasLogin: Bool
  /// CURLOPT_PROXY: with the login, never shown.
  let wireText: String
  /// Without the login, for messages: `http://proxy.example.org:3128`.
  package let name: String

  /// Why a text is not the address of a proxy.
  package enum Malformed: Error, Equatable, Sendable {
    /// Another scheme than those of `Scheme`; this is its name.
    case scheme(String)
    /// This libcurl cannot speak TLS with a proxy.
    case noTLS
    case noHost
    case badHost
    case badPort
    /// Text follows the port: often a `/` of the password, which must be written %2F.
    case path
    case controlCharacter
  }

  package init(_ text: some StringProtocol) throws(Malformed) {
    let bytes = Array(text.utf8)
    if bytes.contains(where: { $0 <= 0x20 || $0 == 0x7f }) { throw .controlCharacter }
    let mark = bytes.firstRange(of: "://".utf8)
    let word = mark.map { String(utf8: bytes[..<$0.lowerBound]).lowercased() } ?? "http"
    guard let scheme = Scheme(rawValue: word) else { throw .scheme(word) }
    if scheme == .https, !Self.speaksTLS { throw .noTLS }

    let start = mark?.upperBound ?? 0
    let end = bytes[start...].firstIndex { "/?#".utf8.contains($0) } ?? bytes.count
    guard bytes[end...].isEmpty || Array(bytes[end...]) == Array("/".utf8) else { throw .path }
    let at = bytes[start..<end].lastIndex(of: UInt8(ascii: "@"))
    let login = bytes[start..<(at ?? start)]
    let authority = bytes[(at.map { $0 + 1 } ?? start)..<end]
    let hostEnd: Int
    do { hostEnd = try Address.endOfHost(authority) } catch {
      throw error == .noHost ? .noHost : error == .badPort ? .badPort : .badHost
    }
    let written = authority[..<hostEnd]
    let digits = String(utf8: authority[hostEnd...].dropFirst())
    guard let port = hostEnd < end ? UInt16(digits) : scheme.port, port > 0 else { throw .badPort }

    self.scheme = scheme
    self.port = port
    hasLogin = !login.isEmpty
    let text = String(utf8: written).lowercased()
    host = String(text.unicodeScalars.filter { $0 != "[" && $0 != "]" })
    name = "\(scheme.rawValue)://\(text):\(port)"
    let plain = String(utf8: Address.plainLogin(login))
    wireText = hasLogin ? "\(scheme.rawValue)://\(plain)@\(text):\(port)" : name
  }

  private static let speaksTLS = dlm_curl_has_https_proxy() != 0

  // MARK: What an answer shows about the proxy

  /// Whether the proxy reads requests to addresses of that scheme itself, instead of tunnelling bytes.
  private func reads(_ target: Address.Scheme) -> Bool { target == .http && [.http, .https].contains(scheme) }

  /// By a 407, which servers do not send (RFC 9110 §15.5.8), or the 401 that tinyproxy sends for a wrong login.
  /// - Parameter peer: the port that the connection leads to (CURLINFO_PRIMARY_PORT).
  func refusesLogin(_ head: ResponseHead, to target: Address.Scheme, port peer: @autoclosure () -> Int) -> Bool {
    switch head.status {
    // Hosts in NO_PROXY are connected to directly.
    case 407: reads(target) && peer() == Int(port)
    case 401: reads(target) && head["server"]?.utf8.starts(with: "tinyproxy/".utf8) == true
    default: false
    }
  }

  /// Over plain http the proxy may have sent some statuses itself; in a tunnel all come from the server.
  func letsThrough(_ status: Int, from target: Address.Scheme) -> Bool {
    !reads(target) || status < 500 && ![401, 403].contains(status)
  }
}
