/// A proxy's answer in the server's place, or the reason why it gave none.
public struct ProxyRefusal: Sendable, Equatable, CustomStringConvertible {
  public enum Answer: Sendable, Equatable {
    /// It requires a login, or another one: 407, tinyproxy's 401, or SOCKS5's own codes (RFC 1928 §3, RFC 1929).
    case login
    /// Another status of 300 or above for CONNECT (RFC 9110 §9.3.6).
    case status(Int)
    /// Its rules forbid the server (RFC 1928 §6, code 2).
    case forbidden
    /// It could not reach the server; with the reason.
    case unreachable(String)
    /// The proxy itself could not be reached; with the reason.
    case away(String)
    /// The peer is not a proxy of this kind; with the evidence.
    case misunderstood(String)
    /// TLS with the proxy itself failed; with the reason.
    case insecure(String)
  }

  /// Scheme, host and port: `http://proxy.example.org:3128`, without the login.
  public let proxy: String
  /// Whether a login was sent to it.
  public let hadLogin: Bool
  public let answer: Answer

  package init(proxy: String, hadLogin: Bool, answer: Answer) {
    self.proxy = proxy
    self.hadLogin = hadLogin
    self.answer = answer
  }

  public var description: String {
    switch answer {
    case .login: "\(proxy) \(hadLogin ? "refused the login" : "requires a login")"
    case .status(let status): "\(proxy) answered \(status)"
    case .forbidden: "\(proxy) forbids it"
    case .unreachable(let why), .away(let why), .misunderstood(let why), .insecure(let why): "\(proxy): \(why)"
    }
  }
}
