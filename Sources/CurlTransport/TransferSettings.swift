import CCurl
import DownloadModel

/// `TransportOptions` as libcurl's options, made once for each loop and applied once to each easy handle.
final class TransferSettings {
  let options: TransportOptions
  /// The header lines of every request that goes home (`TransferRequest.isHome`), and of every other one.
  private let homeLines: HeaderLines
  private let otherLines: HeaderLines
  let given: GivenLines
  private(set) lazy var logins = LoginMemory()

  init(_ options: TransportOptions) throws(CurlFailure) {
    self.options = options
    given = GivenLines(options.headerLines)
    // Without coding, the bytes on disk are the origin's own, so that a range of them can be requested later. The agent
    // is a header line, because CURLOPT_USERAGENT would make libcurl format it twice for each request.
    let own = ["Accept-Encoding: identity", "User-Agent: \(options.userAgent)"]
    // Neither is stored before both are made, because a noncopyable value must not be left half initialised.
    let homeLines = try HeaderLines((given.names.contains("user-agent") ? [own[0]] : own) + given.others)
    let otherLines = try HeaderLines(own)
    self.homeLines = homeLines
    self.otherLines = otherLines
  }

  var connectTimeout: Int { options.connectTimeout.milliseconds }

  /// Half the stall timeout: how many nanoseconds a request may wait while its host is busy with others.
  var longestWait: UInt64 { UInt64(max(1, options.stallTimeout.milliseconds)) * 500_000 }

  /// Whether several transfers to that address may turn out to use one connection (HTTP/2).
  func mayShareConnections(to address: Address) -> Bool { asksForHTTP2 && address.scheme == .https }

  // Through a proxy, libcurl 7.87 to 7.88.1 accumulates connections when it multiplexes.
  private var asksForHTTP2: Bool { options.usesHTTP2 && options.proxies?.https == nil }

  func hasLogin(for place: Address, of request: TransferRequest) -> Bool {
    let isHome = request.isHome(place)
    if given.showsLogin && isHome || GivenLines.own(of: request, for: place).showsLogin { return false }
    return place.hasCredentials || options.logins?.hasLogin(for: place.host, isHome: isHome) == true
  }

  /// Away from home, the netrc file is read only for a login that names the host.
  func readsNetrc(for place: Address, of request: TransferRequest) -> Bool {
    options.netrcFile == nil || request.isHome(place)
      || options.logins?.hasLogin(for: place.host, isHome: false) == true
  }

  /// CURLOPT_NETRC. libcurl reads the file for each transfer, so it is set only where it has a login.
  func apply(netrc isRead: Bool, to easy: borrowing EasyHandle) throws(CurlFailure) {
    try easy.set(CURLOPT_NETRC, Int((isRead ? CURL_NETRC_OPTIONAL : CURL_NETRC_IGNORED).rawValue))
  }

  func applyGuarded(_ isHome: Bool, to easy: borrowing EasyHandle) throws(CurlFailure) {
    guard let identity = options.tls.identity else { return }
    try easy.set(CURLOPT_SSLCERT, isHome ? identity.certificate : nil)
    try easy.set(CURLOPT_SSLKEY, isHome ? identity.key : nil)
  }

  /// - Parameter own: go before those of the same names.
  func lines(isHome: Bool, _ own: GivenLines, adding more: [String]) throws(CurlFailure) -> HeaderLines {
    let usual = (isHome ? homeLines.texts : otherLines.texts).filter { !own.names.contains(GivenLines.name($0)) }
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
    try easy.set(CURLOPT_PROTOCOLS_STR, "http,https")
    // Header lines are for the server; a proxy's CONNECT gets none.
    try easy.set(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
    try easy.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    // A name lookup that hangs must not hold up cancellation or the end of the process.
    try easy.set(CURLOPT_QUICK_EXIT, 1)
    try easy.set(CURLOPT_CONNECTTIMEOUT_MS, connectTimeout)
    try easy.set(CURLOPT_HTTP_VERSION, asksForHTTP2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1)
    // Otherwise libcurl searches the environment for six names with each transfer.
    try easy.set(CURLOPT_PROXY, "")
    // An https proxy's certificate is verified like a server's.
    if let file = options.caFile {
      for option in [CURLOPT_CAINFO, CURLOPT_PROXY_CAINFO] { try easy.set(option, file) }
    }
    if options.isInsecure {
      for option in [CURLOPT_SSL_VERIFYPEER, CURLOPT_PROXY_SSL_VERIFYPEER] { try easy.set(option, 0) }
      for option in [CURLOPT_SSL_VERIFYHOST, CURLOPT_PROXY_SSL_VERIFYHOST] { try easy.set(option, 0) }
    }
    if let file = options.netrcFile {
      try apply(netrc: true, to: easy)
      try easy.set(CURLOPT_NETRC_FILE, file)
    }
    try options.cookieJar?.apply(to: easy)
    try apply(options.tls, to: easy)
    try applyLines(true, to: easy)
    try applyGuarded(true, to: easy)
  }

  private func apply(_ tls: TLSOptions, to easy: borrowing EasyHandle) throws(CurlFailure) {
    // CURL_SSLVERSION_… in the lower half, CURL_SSLVERSION_MAX_… in the upper one.
    if tls.oldest != nil || tls.newest != nil {
      try easy.set(CURLOPT_SSLVERSION, (tls.oldest?.rawValue ?? 0) | (tls.newest?.rawValue ?? 0) << 16)
    }
    if let keys = tls.pinnedKeys { try easy.set(CURLOPT_PINNEDPUBLICKEY, keys) }
    if let file = tls.revocationList { try easy.set(CURLOPT_CRLFILE, file) }
    guard let identity = tls.identity else { return }
    try easy.set(CURLOPT_SSLCERTTYPE, identity.isPKCS12 ? "P12" : "PEM")
    try easy.set(CURLOPT_KEYPASSWD, identity.passphrase)
  }
}

/// Header lines of a user or a list, as far as they are more than lines.
struct GivenLines {
  /// In lower case.
  let names: [String]
  /// RFC 6265 §5.4 requires one line with the servers' cookies, so they are no header line.
  let cookies: String?
  let others: [String]
  let showsLogin: Bool

  init(_ lines: [String]) {
    names = lines.map(Self.name)
    let cookies = zip(names, lines).filter { $0.0 == "cookie" }
      .map { String($0.1.drop { $0 != ":" }.dropFirst().drop { $0 == " " || $0 == "\t" }) }.filter { !$0.isEmpty }
    self.cookies = cookies.isEmpty ? nil : cookies.joined(separator: "; ")
    others = zip(names, lines).filter { $0.0 != "cookie" }.map(\.1)
    showsLogin = names.contains("authorization")
  }

  private static let none = GivenLines([])

  static func own(of request: TransferRequest, for place: Address) -> GivenLines {
    let lines = request.ownLines(for: place)
    return lines.isEmpty ? none : GivenLines(lines)
  }

  /// A semicolon is curl's way of sending a field without a value.
  static func name(_ line: String) -> String { line.prefix { $0 != ":" && $0 != ";" }.lowercased() }
}

extension Duration {
  /// Whole milliseconds, at least one for any time above zero.
  var milliseconds: Int {
    let (seconds, attoseconds) = components
    let value = Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000)
    return value == 0 && self > .zero ? 1 : value
  }
}

/// The current options of an easy handle: only those that differ from the last transfer are set.
struct TransferOptions: ~Copyable {
  /// Kept as long as libcurl points to it.
  private var ownLines: HeaderLines?
  private var hasRange = false
  private var isFresh = false
  private(set) var proxy: Proxy?
  private var authentication = 0
  /// Nil while it is being set.
  private var isHome: Bool? = true
  private var readsNetrc = true
  private var cookies: String?
  /// CURLOPT_HTTPAUTH; libcurl's default is Basic.
  private var schemes = dlm_auth_basic
  private(set) var bufferSize = 0
  /// The origin whose Digest challenge libcurl keeps in the handle.
  var challenger: String?

  mutating func set(
    _ request: TransferRequest, to address: Address, _ settings: TransferSettings, on easy: borrowing EasyHandle
  ) throws(CurlFailure) {
    try easy.set(CURLOPT_URL, address.wireText)
    try set(settings.options.proxies?[address.scheme], on: easy)
    if let start = request.rangeStart {
      try easy.set(CURLOPT_RANGE, "\(start)-" + (request.rangeEnd.map { "\($0 - 1)" } ?? ""))
    } else if hasRange {
      try easy.set(CURLOPT_RANGE, nil)
    }
    hasRange = request.rangeStart != nil
    let goesHome = request.isHome(address)
    let isOther = goesHome != isHome
    isHome = nil
    if isOther { try settings.applyGuarded(goesHome, to: easy) }
    let mayRead = settings.readsNetrc(for: address, of: request)
    if mayRead != readsNetrc { try settings.apply(netrc: mayRead, to: easy) }
    readsNetrc = mayRead
    let own = GivenLines.own(of: request, for: address)
    let wanted = own.cookies ?? (goesHome ? settings.given.cookies : nil)
    if wanted != cookies { try easy.set(CURLOPT_COOKIE, wanted) }
    cookies = wanted
    if !request.headerLines.isEmpty || !own.others.isEmpty {
      let lines = try settings.lines(isHome: goesHome, own, adding: request.headerLines)
      try easy.set(CURLOPT_HTTPHEADER, list: lines)
      ownLines = consume lines
    } else if ownLines != nil || isOther {
      try settings.applyLines(goesHome, to: easy)
      ownLines = nil
    }
    isHome = goesHome
  }

  private mutating func set(_ wanted: Proxy?, on easy: borrowing EasyHandle) throws(CurlFailure) {
    if wanted !== proxy {
      try easy.set(CURLOPT_PROXY, wanted?.address.wireText ?? "")
      proxy = wanted
    }
    guard let wanted, wanted.authentication != authentication else { return }
    try easy.set(CURLOPT_PROXYAUTH, wanted.authentication)
    authentication = wanted.authentication
  }

  /// - Parameter login: nil where there is none.
  mutating func set(_ login: LoginStage?, on easy: borrowing EasyHandle) throws(CurlFailure) {
    let wanted = login?.schemes ?? dlm_auth_basic
    guard schemes != wanted else { return }
    try easy.set(CURLOPT_HTTPAUTH, wanted)
    schemes = wanted
  }

  mutating func set(isFresh wanted: Bool, on easy: borrowing EasyHandle) throws(CurlFailure) {
    guard isFresh != wanted else { return }
    try easy.set(CURLOPT_FRESH_CONNECT, wanted ? 1 : 0)
    isFresh = wanted
  }

  mutating func set(bufferSize size: Int, on easy: borrowing EasyHandle) throws(CurlFailure) {
    guard bufferSize != size else { return }
    do throws(CurlFailure) {
      try easy.set(CURLOPT_BUFFERSIZE, size)
      bufferSize = size
    } catch {
      // The handle still has its last transfer's buffer, because other transfers use the same connection (HTTP/2).
      guard case .curl(Int32(CURLE_BAD_FUNCTION_ARGUMENT.rawValue), _) = error.cause else { throw error }
    }
  }
}
