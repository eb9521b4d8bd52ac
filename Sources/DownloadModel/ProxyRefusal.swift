/// What a proxy on the way said or did in the server's place.
public struct ProxyRefusal: Sendable, Equatable {
  public enum Answer: Sendable, Equatable {
    /// It wants a login, or another one: 407 (RFC 9110 §15.5.8), tinyproxy's 401, or SOCKS5's own words (RFC 1928 §3,
    /// RFC 1929).
    case login
    /// Another status than 2xx to CONNECT (RFC 9110 §9.3.6).
    case status(Int)
    /// Its rules forbid the server (RFC 1928 §6, code 2).
    case forbidden
    /// It could not reach the server, and why.
    case unreachable(String)
    /// The proxy itself could not be reached, and why.
    case away(String)
    /// No proxy of this kind answers there, and what told so.
    case misunderstood(String)
    /// TLS with the proxy itself did not come about, and why.
    case insecure(String)
  }

  /// Scheme, host and port: `http://proxy.example.org:3128`. Never with a login.
  public let proxy: String
  /// Whether the user gave a login for it.
  public let hadLogin: Bool
  public let answer: Answer

  public init(proxy: String, hadLogin: Bool, answer: Answer) {
    self.proxy = proxy
    self.hadLogin = hadLogin
    self.answer = answer
  }
}

extension ProxyRefusal: CustomStringConvertible {
  /// For logs; the front door has better words.
  public var description: String {
    switch answer {
    case .login: "\(proxy) \(hadLogin ? "refused the login" : "wants a login")"
    case .status(let status): "\(proxy) answered \(status)"
    case .forbidden: "\(proxy) forbids it"
    case .unreachable(let why), .away(let why), .misunderstood(let why), .insecure(let why):
      "\(proxy): \(why)"
    }
  }
}
