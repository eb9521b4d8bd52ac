import CCurl
import DownloadModel
import Glibc

/// `TransportOptions` in libcurl's terms, made once a loop and applied once to each easy handle.
struct TransferSettings: ~Copyable {
  /// Which header lines a request has besides its own.
  enum Lines {
    /// dlm's and the user's.
    case all
    /// dlm's: for where the user's are not meant to go.
    case plain
  }

  private let options: TransportOptions
  private let allTexts: [String]
  private let plainTexts: [String]
  /// What the user gave with `-H Cookie: …`. libcurl puts it into one line with those that servers set, as RFC 6265 §5.4 has
  /// it; in the list it would be a second one.
  private let userCookies: String?
  /// The user made the login themselves: `-H Authorization: …`.
  private let showsOwnLogin: Bool
  private let all: HeaderLines
  private let plain: HeaderLines

  init(_ options: TransportOptions) throws(CurlFailure) {
    self.options = options
    // Without coding, bytes on disk are the origin's own, so that a range of them can be asked for later.
    let coding = "Accept-Encoding: identity"
    // As a line of the list: CURLOPT_USERAGENT would have libcurl print it twice for each request.
    plainTexts = [coding, "User-Agent: \(options.userAgent)"]
    let namesItself = options.headerLines.contains { Self.name($0) == "user-agent" }
    allTexts =
      (namesItself ? [coding] : plainTexts) + options.headerLines.filter { Self.name($0) != "cookie" }
    let cookies = options.headerLines.filter { Self.name($0) == "cookie" }
      .map { String($0.drop { $0 != ":" }.dropFirst().drop { $0 == " " || $0 == "\t" }) }.filter {
        !$0.isEmpty
      }
    userCookies = cookies.isEmpty ? nil : cookies.joined(separator: "; ")
    showsOwnLogin = options.headerLines.contains { Self.name($0) == "authorization" }
    // Neither is kept before both are made: what cannot be copied is not given up half made.
    let all = try HeaderLines(allTexts)
    let plain = try HeaderLines(plainTexts)
    self.all = all
    self.plain = plain
  }

  private static func name(_ line: String) -> String { line.prefix { $0 != ":" && $0 != ";" }.lowercased() }

  var cookieJar: CookieJar? { options.cookieJar }

  /// Whether there is a login for where a request goes, with which a challenge can be answered.
  func hasLogin(for place: Address, of request: TransferRequest) -> Bool {
    if showsOwnLogin, place.isSameOrigin(as: request.address) { return false }
    return place.hasCredentials || options.hasLogin?(place.host) == true
  }

  /// The user's own cookies and certificate, as far as they are meant for where the request goes.
  var hasGuardedOptions: Bool { userCookies != nil || options.tls.identity != nil }

  /// - Parameter isHome: whether the request goes to the origin of its own address.
  func applyGuarded(_ isHome: Bool, to easy: borrowing EasyHandle) throws(CurlFailure) {
    if let userCookies { try easy.set(CURLOPT_COOKIE, isHome ? userCookies : nil) }
    guard let identity = options.tls.identity else { return }
    try easy.set(CURLOPT_SSLCERT, isHome ? identity.certificate : nil)
    try easy.set(CURLOPT_SSLKEY, isHome ? identity.key : nil)
  }

  var rateLimit: RateLimit? { options.rateLimit }

  /// How long a request may wait for the first answer of its connection while its host is busy with others, in
  /// nanoseconds: half of what is a stall.
  var longestWait: UInt64 { UInt64(max(1, options.stallTimeout.milliseconds)) * 500_000 }
  var proxies: ProxyRoutes { options.proxies }

  /// Whether several transfers may have one connection at a time (HTTP/2).
  var sharesConnections: Bool { options.usesHTTP2 }

  /// The user's lines go to the origin of the request's address, never across a redirect to another (http.md 42).
  func lines(for address: Address, of request: TransferRequest) -> Lines {
    if options.headerLines.isEmpty { return .all }
    let isHome = options.headerHomes?.contains { $0.isSameOrigin(as: request.address) } ?? true
    return isHome && address.isSameOrigin(as: request.address) ? .all : .plain
  }

  func lines(_ lines: Lines, adding more: [String]) throws(CurlFailure) -> HeaderLines {
    try HeaderLines((lines == .all ? allTexts : plainTexts) + more)
  }

  /// The header lines of a request that has none of its own.
  func apply(_ lines: Lines, to easy: borrowing EasyHandle) throws(CurlFailure) {
    switch lines {
    case .all: try easy.set(CURLOPT_HTTPHEADER, list: all)
    case .plain: try easy.set(CURLOPT_HTTPHEADER, list: plain)
    }
  }

  func apply(to easy: borrowing EasyHandle) throws(CurlFailure) {
    try easy.set(CURLOPT_NOSIGNAL, true)
    try easy.set(CURLOPT_PROTOCOLS_STR, "http,https")
    // Header lines are for the server, none for a proxy's CONNECT.
    try easy.set(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
    try easy.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, true)
    // A lookup that hangs must not hold up cancellation or the end of the process.
    try easy.set(CURLOPT_QUICK_EXIT, true)
    try easy.set(CURLOPT_CONNECTTIMEOUT_MS, options.connectTimeout.milliseconds)
    try easy.set(
      CURLOPT_HTTP_VERSION,
      // Through a proxy libcurl 7.87 to 7.88.1 piles up connections when it multiplexes.
      options.usesHTTP2 && options.proxies.https == nil
        ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1)
    // Else libcurl searches the environment for six names with each transfer.
    try easy.set(CURLOPT_PROXY, "")
    // An https proxy is trusted as servers are.
    if let file = options.caFile {
      try easy.set(CURLOPT_CAINFO, file)
      try easy.set(CURLOPT_PROXY_CAINFO, file)
    }
    if options.isInsecure {
      for option in [CURLOPT_SSL_VERIFYPEER, CURLOPT_PROXY_SSL_VERIFYPEER] { try easy.set(option, false) }
      for option in [CURLOPT_SSL_VERIFYHOST, CURLOPT_PROXY_SSL_VERIFYHOST] { try easy.set(option, 0) }
    }
    if let file = options.netrcFile {
      // Read anew for each transfer, so only when there is one.
      try easy.set(CURLOPT_NETRC, Int(CURL_NETRC_OPTIONAL.rawValue))
      try easy.set(CURLOPT_NETRC_FILE, file)
    }
    try options.cookieJar?.apply(to: easy)
    try apply(options.tls, to: easy)
    try apply(.all, to: easy)
    try applyGuarded(true, to: easy)
  }

  private func apply(_ tls: TLSOptions, to easy: borrowing EasyHandle) throws(CurlFailure) {
    if let bits = tls.versionBits { try easy.set(CURLOPT_SSLVERSION, bits) }
    if let keys = tls.pinnedKeys { try easy.set(CURLOPT_PINNEDPUBLICKEY, keys) }
    if let file = tls.revocationList { try easy.set(CURLOPT_CRLFILE, file) }
    guard let identity = tls.identity else { return }
    try easy.set(CURLOPT_SSLCERTTYPE, identity.isPKCS12 ? "P12" : "PEM")
    try easy.set(CURLOPT_KEYPASSWD, identity.passphrase)
  }
}

extension Duration {
  /// Whole milliseconds, at least one for any time above zero.
  var milliseconds: Int {
    let (seconds, attoseconds) = components
    let value = Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000)
    return value == 0 && self > .zero ? 1 : value
  }
}
