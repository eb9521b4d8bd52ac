public import DownloadModel

/// What the user may say about connections; the same for every transfer of a transport.
public struct TransportOptions: Sendable {
  public var userAgent: String
  /// Header lines of the user's own, sent with every request to the origin of its address: not to a proxy, and not to
  /// another origin that a redirect leads to.
  public var headerLines: [String] = []
  /// Whose addresses get `headerLines`, by their origins; nil for all. What a stranger lists is not sent what is meant for
  /// another.
  public var headerHomes: [Address]?
  /// CURLOPT_CONNECTTIMEOUT_MS.
  public var connectTimeout: Duration = .seconds(10)
  /// A transfer without a byte for so long, once its connection is up, has stalled.
  public var stallTimeout: Duration = .seconds(30)
  /// CURLOPT_CAINFO; nil takes libcurl's own.
  public var caFile: String?
  /// Accepts any certificate (CURLOPT_SSL_VERIFYPEER and VERIFYHOST off).
  public var isInsecure = false
  /// Whom to go through; shared by all transports of a run. libcurl's own list of variables is not looked at, but for
  /// `NO_PROXY`.
  public var proxies = ProxyRoutes()
  /// CURLOPT_NETRC_FILE.
  public var netrcFile: String?
  /// Whether the netrc file has a login for a host, as an address writes it; nil without such a file.
  public var hasLogin: (@Sendable (_ host: String) -> Bool)?
  public var tls = TLSOptions()
  /// Shared by all transports of a run; nil for a run that keeps no cookies.
  public var cookieJar: CookieJar?
  /// Asks for HTTP/2 over TLS. Off by default, since libcurl below 8.4 cannot be trusted with its bodies.
  public var usesHTTP2 = false
  /// The most transfers at a time that connections are kept for.
  public var width = 64
  /// Shared by all transports of a run; nil for no limit.
  public var rateLimit: RateLimit?
  /// Shared by all transports of a run, which join it in the order in which they are made.
  public var group = TransportGroup()

  public init(userAgent: String) { self.userAgent = userAgent }
}
