import CCurl
package import DownloadModel
import Synchronization

/// The user's settings for connections; the same for every transfer of a transport.
@dynamicMemberLookup
package struct TransportOptions: Sendable {
  /// All that an answer depends on.
  package var trust: Trust
  /// CURLOPT_CONNECTTIMEOUT_MS.
  package var connectTimeout: Duration = .seconds(10)
  /// A transfer has stalled if no byte comes for this time, once its connection is up.
  package var stallTimeout: Duration = .seconds(30)
  /// Bytes a second that a file must bring, over each such window; nil for any rate.
  package var leastRate: Int64?
  package var rateWindow: Duration = .seconds(30)
  /// Used by all transports of a run. libcurl's own variables are ignored, except `NO_PROXY`.
  package var proxies: [Address.Scheme: Proxy] = [:]
  /// Used by all transports of a run; nil for a run that keeps no cookies.
  package var cookieJar: CookieJar?
  /// Asks for HTTP/2 over TLS. Off by default, because libcurl below 8.4 does not handle its bodies reliably.
  package var usesHTTP2 = false
  /// How long further transfers to a new host wait at most for a connection that they may share (HTTP/2).
  package var sharingWait: Duration = .milliseconds(30)
  /// For how many transfers at a time connections are kept, at most.
  package var width = 64
  /// Used by all transports of a run; nil for no limit.
  package var rateLimit: RateLimiter?
  /// Statuses that are a refusal of their host, as 429 and 503 are.
  package var retryOn: [ThrottlingStatuses] = []
  /// Used by all transports of a run, which join it in the order in which they are made.
  package var group = TransportGroup()
  /// Called on the loop's thread when a transfer has ended; nil for a run without a report.
  package var onTransfer: (@Sendable (TransferTimes) -> Void)?
  /// For how long a host must bring too little to have collapsed (`HostPace`), and who knows its addresses: for tests.
  var collapseTime: Duration = .seconds(5)
  var lookUp: @Sendable (_ host: String) async -> [String] = HostPace.addresses

  package init(userAgent: String) { trust = Trust(userAgent: userAgent) }

  package subscript<Value>(dynamicMember setting: WritableKeyPath<Trust, Value>) -> Value {
    get { trust[keyPath: setting] }
    set { trust[keyPath: setting] = newValue }
  }
}

/// A limit on the bytes a second of all transfers together (`--limit-rate`), over all loops: a loop that has received
/// more than was due does not read its sockets until the time has caught up, and TCP does the rest.
package final class RateLimiter: Sendable {
  package let bytesPerSecond: Int64
  /// Nanoseconds. The received bytes are paid for up to then: a token bucket that may be overdrawn.
  private let paidUntil = Lock<UInt64>(0)

  /// Allowance that is unused for this long is lost, so that no burst follows a pause.
  static let allowance: UInt64 = 100_000_000

  /// - Parameter bytesPerSecond: at least 1.
  package init(bytesPerSecond: Int64) { self.bytesPerSecond = max(1, bytesPerSecond) }

  /// - Parameter now: in nanoseconds, of a clock that never goes back.
  func received(_ bytes: Int, at now: UInt64) {
    let price = UInt64(Double(bytes) / Double(bytesPerSecond) * 1e9)
    paidUntil.withLock { $0 = max($0, now - min(now, Self.allowance)) + price }
  }

  func pause(at now: UInt64) -> UInt64 { paidUntil.withLock { $0 > now ? $0 - now : 0 } }

  /// CURLOPT_BUFFERSIZE: libcurl 7.88 reads up to a hundred times in a row from a socket that has more, and that must
  /// be at most a quarter of a second's bytes. (It takes no buffer below 1 KiB.)
  var bufferSize: Int { Int(min(48 * 1024, max(1024, bytesPerSecond / 400))) }

  /// SO_RCVBUF: the least that keeps a slow rate even; nil where the kernel's default suffices.
  var receiveBuffer: Int32? { bytesPerSecond < 8 << 20 ? Int32(max(4096, bytesPerSecond / 8)) : nil }
}

/// How much one read from a socket may bring (CURLOPT_BUFFERSIZE). A large buffer saves system calls, but costs memory
/// and a slower allocation, so only the few transfers that bring much get one.
enum ReceiveBuffer {
  /// How much the write callback gets at a time, and a stream's least.
  static let least = 16 * 1024
  static let most = 512 * 1024
  /// Enough for a small file with its head.
  static let small = 32 * 1024
  /// For all transfers of a loop together, unless there are so many that the least for each is more.
  static let budget = 2 * 1024 * 1024
  /// For a transfer among thousands, which has its connection for itself.
  static let scant = 2 * 1024

  /// - Parameter running: the transfers of the loop, this one included.
  /// - Parameter isShared: whether others may use the same connection: a stream that is full holds it up.
  /// - Returns: bytes. There are few different sizes, so that allocations are reused.
  static func size(running: Int, lastBody: Int64?, scheme: Address.Scheme, isShared: Bool = false) -> Int {
    var size = lastBody.map { $0 < small } == true ? small : most
    while size > (isShared ? least : scant), size * running > budget { size /= 2 }
    if size > least { return size }
    // libcurl allocates one byte more than it is told, and an allocator rounds up: here to a power of two, or a quarter
    // more for a whole record of TLS (16 KiB). For a large buffer that is not worth the uneven pieces.
    return (scheme == .https ? size * 5 / 4 : size) - 1
  }

  /// How much the kernel shall at once take for a connection, so that a fast server need not wait for each read; nil
  /// where its own measure, which begins with 128 KiB and grows with what is read, suffices.
  static func room(for size: Int, bodyOf length: Int64?) -> Int32? {
    size > small * 2 && length ?? 0 >= 16 << 20 ? Int32(size * 4) : nil
  }
}

/// `TransportOptions` as libcurl's options, made once for each loop and applied once to each easy handle.
final class TransferSettings {
  let options: TransportOptions
  /// The header lines of every request that goes home (`TransferRequest.isHome`), and of every other one.
  private let homeLines: HeaderLines
  private let otherLines: HeaderLines
  let given: GivenLines
  private(set) lazy var logins = LoginMemory()
  /// By host and port; most hosts need no other.
  var ways: [String: ConnectionWay] = [:]
  private let authorityFolder: String?

  init(_ options: TransportOptions) throws(CurlFailure) {
    self.options = options
    given = GivenLines(options.headerLines)
    authorityFolder = options.caFolder ?? dlm_curl_ca_folder().map { String(cString: $0) }
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
  private var asksForHTTP2: Bool { options.usesHTTP2 && options.proxies[.https] == nil }

  func hasLogin(for place: Address, of request: TransferRequest) -> Bool {
    let isHome = request.isHome(place)
    if showsLogin(for: place, of: request) { return false }
    return place.hasCredentials || options.logins?.hasLogin(for: place.host, isHome: isHome) == true
  }

  /// Whether a header line is the login.
  func showsLogin(for place: Address, of request: TransferRequest) -> Bool {
    given.showsLogin && request.isHome(place) || GivenLines.own(of: request, for: place).showsLogin
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
    try easy.set(CURLOPT_PROTOCOLS_STR, "http,https")
    // Header lines are for the server; a proxy's CONNECT gets none.
    try easy.set(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
    try easy.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    // A name lookup that hangs must not hold up cancellation or the end of the process.
    try easy.set(CURLOPT_QUICK_EXIT, 1)
    try easy.set(CURLOPT_CONNECTTIMEOUT_MS, connectTimeout)
    try apply([], to: easy)
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

  func apply(_ way: ConnectionWay, to easy: borrowing EasyHandle) throws(CurlFailure) {
    let usesHTTP2 = asksForHTTP2 && !way.contains(.http1)
    try easy.set(CURLOPT_HTTP_VERSION, usesHTTP2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1)
    let hasFile = options.caFile != nil || dlm_curl_ca_file() != nil
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

/// Header lines of a user or a list, as far as they are more than lines.
struct GivenLines {
  /// In lower case.
  let names: [String]
  /// RFC 6265 §5.4 requires one line with the servers' cookies, so they are no header line.
  let cookies: String?
  let others: [String]
  let showsLogin: Bool

  init(_ lines: [String]) {
    let fields = lines.map(HeaderLine.init)
    names = fields.map(\.name)
    let cookies = fields.filter { $0.name == "cookie" && !$0.value.isEmpty }.map(\.value)
    self.cookies = cookies.isEmpty ? nil : cookies.joined(separator: "; ")
    others = zip(names, lines).filter { $0.0 != "cookie" }.map(\.1)
    showsLogin = names.contains("authorization")
  }

  private static let none = GivenLines([])

  static func own(of request: TransferRequest, for place: Address) -> GivenLines {
    let lines = request.ownLines(for: place)
    return lines.isEmpty ? none : GivenLines(lines)
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

/// The current options of an easy handle: those that cost something are set only where they differ from the last
/// transfer's.
struct TransferOptions: ~Copyable {
  /// Kept as long as libcurl points to it.
  private var ownLines: HeaderLines?
  private var detours: HeaderLines?
  private(set) var proxy: Proxy?
  /// Nil while it is being set.
  private var isHome: Bool? = true
  private var readsNetrc = true
  private var isHead = false
  private var cookies: String?
  private(set) var bufferSize = 0
  private(set) var way: ConnectionWay = []
  /// The origin whose Digest challenge libcurl keeps in the handle.
  var challenger: String?

  mutating func set(
    _ request: TransferRequest, to address: Address, _ settings: TransferSettings, on easy: borrowing EasyHandle
  ) throws(CurlFailure) {
    try easy.set(CURLOPT_URL, address.wireText)
    try set(settings.options.proxies[address.scheme], on: easy)
    let wantedWay = settings.ways.isEmpty ? [] : settings.ways[address.hostAndPort] ?? []
    if wantedWay != way { try settings.apply(wantedWay, to: easy) }
    way = wantedWay
    try easy.set(CURLOPT_RANGE, request.rangeStart.map { "\($0)-" + (request.rangeEnd.map { "\($0 - 1)" } ?? "") })
    if request.isHead != isHead { try easy.set(CURLOPT_NOBODY, request.isHead ? 1 : 0) }
    isHead = request.isHead
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
    if let wanted { try easy.set(CURLOPT_PROXYAUTH, wanted.authentication) }
  }

  mutating func set(_ detours: consuming HeaderLines, on easy: borrowing EasyHandle) throws(CurlFailure) {
    try easy.set(CURLOPT_RESOLVE, list: detours)
    self.detours = consume detours
  }

  mutating func set(bufferSize size: Int, on easy: borrowing EasyHandle) throws(CurlFailure) {
    guard bufferSize != size else { return }
    do {
      try easy.set(CURLOPT_BUFFERSIZE, size)
      bufferSize = size
    } catch {
      // The handle still has its last transfer's buffer, because other transfers use the same connection (HTTP/2).
      guard case .curl(Int32(CURLE_BAD_FUNCTION_ARGUMENT.rawValue), _) = error.cause else { throw error }
    }
  }
}
