import CCurl
import DownloadModel

/// `TransportOptions` as libcurl's options, made once for each loop and applied once to each easy handle.
final class TransferSettings {
  let options: TransportOptions
  /// The header lines of requests that may carry the user's data (`TransferRequest.isHome`), and of all others.
  private let homeLines: HeaderLines
  private let otherLines: HeaderLines
  private let hosts: HeaderLines
  let given: GivenLines
  private(set) lazy var logins = LoginMemory()
  /// By host and port; most hosts have no entry.
  var ways: [String: ConnectionWay] = [:]
  private let authorityFolder: String?

  init(_ options: TransportOptions) throws(CurlFailure) {
    self.options = options
    given = GivenLines(options.trust.headerLines)
    authorityFolder = options.trust.caFolder ?? dlm_curl_ca_folder().map { String(cString: $0) }
    // Without content coding, the bytes on disk are the origin's own, so that a range of them can be requested later.
    // The agent is a header line, because CURLOPT_USERAGENT would make libcurl format it twice for each request.
    let own = ["Accept-Encoding: identity", "User-Agent: \(options.trust.userAgent)"]
    // None is stored before all are made, because a noncopyable value must not be left half initialised.
    let homeLines = try HeaderLines((given.names.contains("user-agent") ? [own[0]] : own) + given.others)
    let otherLines = try HeaderLines(own)
    let hosts = try HeaderLines(options.network.hosts)
    self.homeLines = homeLines
    self.otherLines = otherLines
    self.hosts = hosts
  }

  /// In milliseconds, rounded up: 0 would mean libcurl's own default.
  var connectTimeout: Int { Int((options.connectTimeout.nanoseconds + 999_999) / 1_000_000) }

  /// Half the stall timeout: how many nanoseconds a request may wait while its host is busy with others.
  var longestWait: UInt64 { options.stallTimeout.nanoseconds / 2 }

  /// Whether several transfers to that URL may turn out to use one connection (HTTP/2).
  func mayShareConnections(to address: Address) -> Bool {
    asksForHTTP2 && address.scheme == .https && options.limits.limiters(of: address).isEmpty
  }

  // Through a proxy, libcurl 7.87 to 7.88.1 accumulates connections when it multiplexes.
  private var asksForHTTP2: Bool { options.usesHTTP2 && options.proxies[.https] == nil }

  /// libcurl before 8.4 loses bytes of a paused HTTP/2 stream, and a limit pauses transfers.
  func way(to address: Address) -> ConnectionWay {
    let known = ways.isEmpty ? [] : ways[address.hostAndPort] ?? []
    return options.usesHTTP2 && !options.limits.limiters(of: address).isEmpty ? known.union(.http1) : known
  }

  func hasLogin(for place: Address, of request: TransferRequest) -> Bool {
    let isHome = request.isHome(place)
    if showsLogin(for: place, of: request) { return false }
    return place.hasCredentials || options.trust.logins?.hasLogin(for: place.host, isHome: isHome) == true
  }

  /// Whether a header line carries the login.
  func showsLogin(for place: Address, of request: TransferRequest) -> Bool {
    given.showsLogin && request.isHome(place) || GivenLines.own(of: request, for: place).showsLogin
  }

  /// For other hosts, the netrc file is read only for a login that names the host.
  func readsNetrc(for place: Address, of request: TransferRequest) -> Bool {
    options.trust.netrcFile == nil || request.isHome(place)
      || options.trust.logins?.hasLogin(for: place.host, isHome: false) == true
  }

  /// CURLOPT_NETRC. libcurl reads the file for each transfer, so it is set only if the file has a login.
  func apply(netrc isRead: Bool, to easy: borrowing EasyHandle) throws(CurlFailure) {
    try easy.set(CURLOPT_NETRC, Int((isRead ? CURL_NETRC_OPTIONAL : CURL_NETRC_IGNORED).rawValue))
  }

  func applyGuarded(_ isHome: Bool, to easy: borrowing EasyHandle) throws(CurlFailure) {
    guard let identity = options.trust.tls.identity else { return }
    try easy.set(CURLOPT_SSLCERT, isHome ? identity.certificate : nil)
    try easy.set(CURLOPT_SSLKEY, isHome ? identity.key : nil)
  }

  /// - Parameter own: lines that replace those of the same names.
  func lines(isHome: Bool, _ own: GivenLines, adding more: [String]) throws(CurlFailure) -> HeaderLines {
    let usual = (isHome ? homeLines.texts : otherLines.texts).filter { !own.names.contains(HeaderLine($0).name) }
    return try HeaderLines(usual + own.others + more)
  }

  func applyLines(_ isHome: Bool, to easy: borrowing EasyHandle) throws(CurlFailure) {
    if isHome {
      try easy.set(CURLOPT_HTTPHEADER, list: homeLines)
    } else {
      try easy.set(CURLOPT_HTTPHEADER, list: otherLines)
    }
  }

  func apply(to easy: borrowing EasyHandle) throws(CurlFailure) {
    try easy.set(CURLOPT_NOSIGNAL, 1)
    try easy.set(CURLOPT_PROTOCOLS_STR, "http,https,ftp,ftps,sftp,scp")
    // Header lines are for the server; a proxy's CONNECT gets none.
    try easy.set(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
    try easy.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    // A name lookup that hangs must not delay cancellation or the end of the process.
    try easy.set(CURLOPT_QUICK_EXIT, 1)
    try easy.set(CURLOPT_CONNECTTIMEOUT_MS, connectTimeout)
    try apply([], to: easy)
    try options.network.apply(to: easy)
    if !hosts.texts.isEmpty { try easy.set(CURLOPT_RESOLVE, list: hosts) }
    // Otherwise libcurl searches the environment for six names with each transfer.
    try easy.set(CURLOPT_PROXY, "")
    // An https proxy's certificate is verified like a server's.
    if let file = options.trust.caFile {
      for option in [CURLOPT_CAINFO, CURLOPT_PROXY_CAINFO] { try easy.set(option, file) }
    }
    if options.trust.isInsecure {
      for option in [CURLOPT_SSL_VERIFYPEER, CURLOPT_PROXY_SSL_VERIFYPEER] { try easy.set(option, 0) }
      for option in [CURLOPT_SSL_VERIFYHOST, CURLOPT_PROXY_SSL_VERIFYHOST] { try easy.set(option, 0) }
    }
    if let file = options.trust.netrcFile {
      try apply(netrc: true, to: easy)
      try easy.set(CURLOPT_NETRC_FILE, file)
    }
    try options.cookieJar?.apply(to: easy)
    try apply(options.trust.tls, to: easy)
    try applyLines(true, to: easy)
    try applyGuarded(true, to: easy)
  }

  func apply(_ way: ConnectionWay, to easy: borrowing EasyHandle) throws(CurlFailure) {
    let usesHTTP2 = asksForHTTP2 && !way.contains(.http1)
    try easy.set(CURLOPT_HTTP_VERSION, usesHTTP2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1)
    let hasFile = options.trust.caFile != nil || dlm_curl_ca_file() != nil
    let folder = hasFile && !way.contains(.folder) ? nil : authorityFolder
    for option in [CURLOPT_CAPATH, CURLOPT_PROXY_CAPATH] { try easy.set(option, folder) }
  }

  private func apply(_ tls: TLSOptions, to easy: borrowing EasyHandle) throws(CurlFailure) {
    // CURL_SSLVERSION_… in the lower half, CURL_SSLVERSION_MAX_… in the upper one.
    if tls.oldest != nil || tls.newest != nil {
      try easy.set(CURLOPT_SSLVERSION, (tls.oldest?.number ?? 0) | (tls.newest?.number ?? 0) << 16)
    }
    if let keys = tls.pinnedKeys { try easy.set(CURLOPT_PINNEDPUBLICKEY, keys) }
    if let file = tls.revocationList { try easy.set(CURLOPT_CRLFILE, file) }
    guard let identity = tls.identity else { return }
    try easy.set(CURLOPT_SSLCERTTYPE, identity.isPKCS12 ? "P12" : "PEM")
    try easy.set(CURLOPT_KEYPASSWD, identity.passphrase)
  }
}
