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
  private let all: HeaderLines
  private let plain: HeaderLines

  init(_ options: TransportOptions) throws(CurlFailure) {
    self.options = options
    // Without coding, bytes on disk are the origin's own, so that a range of them can be asked for later.
    let coding = "Accept-Encoding: identity"
    // As a line of the list: CURLOPT_USERAGENT would have libcurl print it twice for each request.
    plainTexts = [coding, "User-Agent: \(options.userAgent)"]
    let namesItself = options.headerLines.contains { $0.lowercased().hasPrefix("user-agent:") }
    allTexts = (namesItself ? [coding] : plainTexts) + options.headerLines
    // Neither is kept before both are made: what cannot be copied is not given up half made.
    let all = try HeaderLines(allTexts)
    let plain = try HeaderLines(plainTexts)
    self.all = all
    self.plain = plain
  }

  var rateLimit: RateLimit? { options.rateLimit }

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
      options.usesHTTP2 && options.proxy == nil && !Self.environmentNamesProxy
        ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1)
    if let proxy = options.proxy {
      try easy.set(CURLOPT_PROXY, proxy)
    } else if !Self.environmentNamesProxy {
      // Else libcurl searches the environment for six names with each transfer.
      try easy.set(CURLOPT_PROXY, "")
    }
    if let file = options.caFile { try easy.set(CURLOPT_CAINFO, file) }
    if options.isInsecure {
      try easy.set(CURLOPT_SSL_VERIFYPEER, false)
      try easy.set(CURLOPT_SSL_VERIFYHOST, 0)
    }
    if let file = options.netrcFile {
      // Read anew for each transfer, so only when there is one.
      try easy.set(CURLOPT_NETRC, Int(CURL_NETRC_OPTIONAL.rawValue))
      try easy.set(CURLOPT_NETRC_FILE, file)
    }
    try apply(.all, to: easy)
  }
}

extension TransferSettings {
  /// libcurl's own list of variables; HTTP_PROXY counts in lower case only, since a CGI server sets it from a header.
  private static var environmentNamesProxy: Bool {
    let names: [String] = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
    return names.contains { getenv($0) != nil }
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
