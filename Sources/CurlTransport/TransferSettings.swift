import CCurl
import Glibc

/// `TransportOptions` in libcurl's terms, made once a loop and applied once to each easy handle.
struct TransferSettings: ~Copyable {
  private let options: TransportOptions
  private let commonLines: [String]
  private let lines: HeaderLines

  init(_ options: TransportOptions) throws(CurlFailure) {
    self.options = options
    // Without coding, bytes on disk are the origin's own, so that a range of them can be asked for later.
    let namesItself = options.headerLines.contains { $0.lowercased().hasPrefix("user-agent:") }
    // As a line of the list: CURLOPT_USERAGENT would have libcurl print it twice for each request.
    commonLines =
      ["Accept-Encoding: identity"] + (namesItself ? [] : ["User-Agent: \(options.userAgent)"])
      + options.headerLines
    lines = try HeaderLines(commonLines)
  }

  var rateLimit: RateLimit? { options.rateLimit }

  /// Whether several transfers may have one connection at a time (HTTP/2).
  var sharesConnections: Bool { options.usesHTTP2 }

  func lines(adding more: [String]) throws(CurlFailure) -> HeaderLines {
    try HeaderLines(commonLines + more)
  }

  /// The header lines of a request that has none of its own.
  func applyLines(to easy: borrowing EasyHandle) throws(CurlFailure) {
    try easy.set(CURLOPT_HTTPHEADER, list: lines)
  }

  func apply(to easy: borrowing EasyHandle) throws(CurlFailure) {
    try easy.set(CURLOPT_NOSIGNAL, true)
    try easy.set(CURLOPT_PROTOCOLS_STR, "http,https")
    try easy.set(CURLOPT_FOLLOWLOCATION, true)
    try easy.set(CURLOPT_MAXREDIRS, 20)
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
    try applyLines(to: easy)
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
