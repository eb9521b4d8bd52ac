public import ArgumentParser
import CurlTransport
public import DownloadModel
import Glibc

// How a run speaks to servers: the options, and what they come to.

extension TLSOptions.Version: ExpressibleByArgument {
  public init?(argument: String) {
    switch argument {
    case "1.2": self = .tls12
    case "1.3": self = .tls13
    default: return nil
    }
  }
  public static var allValueStrings: [String] { ["1.2", "1.3"] }
  public var defaultValueDescription: String { self == .tls12 ? "1.2" : "1.3" }
}

struct ConnectionOptions: ParsableArguments {
  @Option(
    name: [.customShort("j", allowingJoined: true), .long],
    help: .value("N|auto", "Files at a time; auto: up to 64 at once (default: auto)."))
  var jobs: Jobs?

  @Option(help: .value("N|auto", "Connections to one host, over all files and pieces (default: auto)."))
  var perHost: Parallelism?

  @Option(
    name: [.customShort("s", allowingJoined: true), .long],
    help: .value(
      "N|auto",
      "Pieces of one large file at a time; auto splits where it helps, sequential never (default: "
        + "auto)."))
  var segments: Parallelism?

  @Option(help: .value("rate", "Bytes a second over everything: 500K, 5M (default: no limit)."))
  var limitRate: ByteRate?

  @Option(help: .value("N", "Attempts after the first, for temporary failures (default: 5)."))
  var retries: Count?

  @Option(help: .value("S", "No retry begins later than this after the first attempt (default: no limit)."))
  var retryMaxTime: Seconds?

  @Option(help: .value("S", "Seconds until a connection must be up (default: 10)."))
  var connectTimeout: Seconds?

  @Option(help: .value("S", "Seconds without a byte until a transfer has stalled (default: 30)."))
  var stallTimeout: Seconds?

  @Option(
    name: [.customShort("H", allowingJoined: true), .long],
    help: .value(
      "line",
      "A header line for the address's own server; @FILE takes them from a file, a line each "
        + "(default: none)."))
  var header: [HeaderArgument] = []

  @Option(help: "How dlm names itself to servers (default: dlm/\(DLM.version)).")
  var userAgent: String?

  @Option(help: .value("file", "Certificates to trust, in PEM (default: the system's)."), completion: .file())
  var cacert: String?

  @Option(
    help: .value("file", "Revoked certificates, in PEM: a list from each issuer, the root's too (default: none)."),
    completion: .file())
  var crlfile: String?

  @Option(
    help: .value(
      "file",
      "Your certificate, in PEM or PKCS #12 (default: none). Its pass phrase: DLM_CERT_PASSPHRASE, "
        + "a file, or as asked at the terminal."), completion: .file())
  var cert: String?

  @Option(help: .value("PEM|P12", "What --cert holds (default: as it shows)."))
  var certType: CertificateType?

  @Option(
    help: .value("file", "The private key of --cert, in PEM (default: in the certificate's file)."),
    completion: .file())
  var key: String?

  @Option(
    help: .value("file", "A file whose first line is the pass phrase of --cert or --key (default: asked for)."),
    completion: .file())
  var certPassphraseFile: String?

  @Option(
    help: .value(
      "keys", "The only public keys that servers may have: sha256//BASE64;sha256//…, or a file (default: " + "any)."),
    completion: .file())
  var pinnedpubkey: String?

  @Flag(name: .customLong("tlsv1.2"), help: "TLS 1.2 or newer.")
  var tls12 = false

  @Flag(name: .customLong("tlsv1.3"), help: "TLS 1.3 or newer.")
  var tls13 = false

  @Option(help: .value("1.2|1.3", "The newest TLS to speak (default: the newest there is)."))
  var tlsMax: TLSOptions.Version?

  @Flag(help: "Accept any certificate.")
  var insecure = false

  @Option(help: .value("url", "The proxy to go through (default: http_proxy, https_proxy, all_proxy)."))
  var proxy: String?

  @Option(help: .value("file", "Logins by host (default: none)."), completion: .file())
  var netrcFile: String?

  @Option(
    help: .value("file", "Keep cookies between runs, as curl does (default: none); without it they end with the run."),
    completion: .file())
  var cookieJar: String?

  @Flag(name: .customLong("http2"), help: "Ask for HTTP/2 over TLS.")
  var http2 = false
}

/// How a run speaks to servers.
struct ConnectionSettings {
  /// Without what is the run's own: its cookies and its width (see `Wiring`).
  private(set) var transport: TransportOptions
  /// `--cookie-jar`, with the cookies of earlier runs.
  let cookieJar: CookieJarFile?

  /// - Throws: `ValidationError` that names the option, never a secret.
  init(_ options: ConnectionOptions, _ sources: SettingsSources) throws {
    transport = TransportOptions(
      userAgent: try sources.naming("user-agent", options.userAgent, Self.userAgent) ?? "dlm/\(DLM.version)")
    transport.headerLines = try sources.naming("header", options.header, HeaderArgument.lines) ?? []
    transport.connectTimeout = options.connectTimeout?.duration ?? .seconds(10)
    transport.stallTimeout = options.stallTimeout?.duration ?? .seconds(30)
    transport.caFile = try Self.authorities(options, sources)
    transport.isInsecure = options.insecure
    transport.proxies = try Self.proxies(options.proxy, sources)
    transport.netrcFile = try Self.readable("netrc-file", options.netrcFile, sources)
    transport.logins = try sources.naming("netrc-file", options.netrcFile, Self.logins)
    transport.tls = try Self.tls(options, sources)
    for path in [transport.caFile, transport.tls.pinnedKeys, transport.tls.revocationList].compactMap(\.self)
    where !path.hasPrefix("sha256//") {
      do { transport.fileDigests[path] = try ContentDigest.ofFile(path).hex } catch {
        throw ValidationError(UsageMessages.unreadable("The file", path, "\(error)"))
      }
    }
    transport.usesHTTP2 = options.http2
    cookieJar = try sources.naming("cookie-jar", options.cookieJar, CookieJarFile.init)
    transport.rateLimit = options.limitRate.map { RateLimiter(bytesPerSecond: $0.bytesPerSecond) }
  }

  /// Has each transfer of the run tell when it did what.
  mutating func report(to onTransfer: @escaping @Sendable (TransferTimes) -> Void) {
    transport.onTransfer = onTransfer
  }

  /// The file of the certificates to trust.
  private static func authorities(
    _ options: ConnectionOptions, _ sources: SettingsSources
  ) throws -> String? {
    if let path = try readable("cacert", options.cacert, sources) { return path }
    for variable in ["CURL_CA_BUNDLE", "SSL_CERT_FILE"] {
      guard let path = sources.environment[variable] else { continue }
      return try requireReadable(variable, path)
    }
    return nil
  }

  /// A line end in it would start another header line (RFC 9110 §5.5).
  private static func userAgent(_ text: String) throws -> String {
    guard !text.unicodeScalars.contains(where: HeaderArgument.isForbidden) else {
      throw ValidationError(UsageMessages.badUserAgent(text))
    }
    return text
  }

  private static func readable(
    _ name: String, _ path: String?, _ sources: SettingsSources
  ) throws -> String? {
    try sources.naming(name, path) { try requireReadable("--\(name)", $0) }
  }

  /// - Returns: the path.
  private static func requireReadable(_ option: String, _ path: String) throws -> String {
    var status = stat()
    guard access(path, R_OK) == 0, stat(path, &status) == 0 else {
      throw ValidationError(UsageMessages.unreadable(option, path, String(cString: strerror(errno))))
    }
    // libcurl reads it for each connection, and would wait for a pipe with all transfers of its loop.
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw ValidationError(UsageMessages.unreadable(option, path, UsageMessages.notRegular))
    }
    return path
  }

  /// Logins are a page; a file of more is something else.
  private static let longestNetrc = 1 << 20

  /// Reads `--netrc-file` for the cache's keys, as entries serve only the logins that made them (RFC 9111 §3.5); the
  /// transport looks up each host in the file by itself.
  /// - Throws: `ValidationError` naming file, cause and remedy.
  private static func logins(_ path: String) throws -> NetrcLogins {
    do throws(UserFile.Refusal) {
      // Not of a pipe, which can be read only once: a login is looked up for each connection.
      return NetrcLogins(try UserFile.bytes(path, upTo: longestNetrc))
    } catch {
      throw ValidationError(UsageMessages.unusableNetrc(path, UsageMessages.cause(error)))
    }
  }

  private static func tls(_ options: ConnectionOptions, _ sources: SettingsSources) throws -> TLSOptions {
    var tls = TLSOptions()
    tls.newest = options.tlsMax
    tls.oldest = options.tls13 ? .tls13 : options.tls12 ? .tls12 : nil
    if let oldest = tls.oldest, let newest = tls.newest, newest < oldest {
      let name = oldest.defaultValueDescription
      throw sources.conflict(
        UsageMessages.noVersionLeft(newest: newest.defaultValueDescription, oldest: name), "tls-max", "tlsv\(name)")
    }
    tls.pinnedKeys = options.pinnedpubkey
    tls.revocationList = try readable("crlfile", options.crlfile, sources)
    if let keys = tls.pinnedKeys, !keys.hasPrefix("sha256//") {
      _ = try readable("pinnedpubkey", keys, sources)
    }
    if options.cert == nil, let key = options.key, sources.found("key") == nil {
      throw ValidationError(UsageMessages.keyAlone(key))
    }
    tls.identity = try sources.naming("cert", options.cert) { certificate in
      try ClientCertificateFiles(
        certificate: certificate, type: options.certType, key: options.key,
        passphraseFile: options.certPassphraseFile, passphrase: sources.environment["DLM_CERT_PASSPHRASE"]
      ).identity(ask: TerminalPrompt.secret)
    }
    return tls
  }

  // MARK: Proxies

  /// `--proxy`, else `DLM_PROXY`, else the settings file, else the variables that curl knows. What is none is refused
  /// before the first request; an empty one is no proxy.
  /// - Throws: `ValidationError` that names the place, never the login.
  private static func proxies(_ text: String?, _ sources: SettingsSources) throws -> ProxyRoutes {
    guard let text else {
      return ProxyRoutes(
        http: try first(of: httpVariables, in: sources.environment),
        https: try first(of: httpsVariables, in: sources.environment))
    }
    let place = sources.found("proxy").map { UsageMessages.proxy($0.origin) } ?? "--proxy"
    return ProxyRoutes(text.isEmpty ? nil : Proxy(try address(text, from: place)))
  }

  /// libcurl's own lists, in its order. HTTP_PROXY counts in lower case only, since a CGI server sets it from a header.
  private static let httpVariables = ["http_proxy", "all_proxy", "ALL_PROXY"]
  private static let httpsVariables = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]

  private static func first(
    of names: [String], in environment: [String: String]
  ) throws -> ProxyAddress? {
    for name in names {
      if let text = environment[name], !text.isEmpty { return try address(text, from: name) }
    }
    return nil
  }

  private static func address(_ text: String, from place: String) throws -> ProxyAddress {
    do {
      return try ProxyAddress(text)
    } catch {
      throw ValidationError(UsageMessages.noProxy(ProxyAddress.redacted(text), from: place, error))
    }
  }
}
