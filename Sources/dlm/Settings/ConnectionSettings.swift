import ArgumentParser
import CurlTransport
import DownloadModel
import Glibc

struct ConnectionSettings {
  /// `Wiring` adds what is the run's own: its cookies and its width.
  private(set) var transport: TransportOptions
  let cookieJar: CookieJarFile?

  /// - Throws: `ValidationError` that names the option, never a secret.
  init(_ options: RunOptions, _ sources: SettingsSources) throws {
    transport = TransportOptions(
      userAgent: try sources.naming("user-agent", options.userAgent, Self.userAgent) ?? "dlm/\(DLM.version)")
    transport.headerLines = try sources.naming("header", options.header, HeaderArgument.lines) ?? []
    transport.connectTimeout = options.connectTimeout?.duration ?? .seconds(10)
    transport.stallTimeout = options.stallTimeout?.duration ?? .seconds(30)
    transport.leastRate = options.minRate?.bytesPerSecond
    transport.caFile = try Self.authorities(options, sources)
    transport.isInsecure = options.insecure
    transport.proxies = try Self.proxies(options.proxy, sources)
    transport.netrcFile = try Self.readable("netrc-file", options.netrcFile, sources)
    // For the cache's keys, as entries serve only the logins that made them (RFC 9111 §3.5). No pipe, which can be read
    // only once: libcurl reads the file by itself for each connection.
    transport.logins = try sources.naming("netrc-file", options.netrcFile) { path in
      try NetrcLogins(
        UserFile.usable(path, upTo: 1 << 20) {
          "--netrc-file \(path) cannot be used: \($0). Name the file of your logins."
        })
    }
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

  mutating func report(to onTransfer: @escaping @Sendable (TransferTimes) -> Void) { transport.onTransfer = onTransfer }

  private static func authorities(_ options: RunOptions, _ sources: SettingsSources) throws -> String? {
    if let path = try readable("cacert", options.cacert, sources) { return path }
    for variable in ["CURL_CA_BUNDLE", "SSL_CERT_FILE"] {
      if let path = sources.environment[variable] { return try requireReadable(variable, path) }
    }
    return nil
  }

  /// A line end in it would start another header line (RFC 9110 §5.5).
  private static func userAgent(_ text: String) throws -> String {
    guard !text.unicodeScalars.contains(where: HeaderArgument.isForbidden) else {
      throw ValidationError("--user-agent \"\(text)\" has a line end or a control character in it: leave that out.")
    }
    return text
  }

  private static func readable(_ name: String, _ path: String?, _ sources: SettingsSources) throws -> String? {
    try sources.naming(name, path) { try requireReadable("--\(name)", $0) }
  }

  private static func requireReadable(_ option: String, _ path: String) throws -> String {
    var status = stat()
    guard access(path, R_OK) == 0, stat(path, &status) == 0 else {
      throw ValidationError(UsageMessages.unreadable(option, path, String(cString: strerror(errno))))
    }
    // libcurl reads it for each connection, and a pipe would block all transfers of the loop.
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw ValidationError(UsageMessages.unreadable(option, path, UsageMessages.notRegular))
    }
    return path
  }

  private static func tls(_ options: RunOptions, _ sources: SettingsSources) throws -> TLSOptions {
    var tls = TLSOptions()
    tls.newest = options.tlsMax
    tls.oldest = options.tls13 ? .tls13 : options.tls12 ? .tls12 : nil
    if let oldest = tls.oldest, let newest = tls.newest, newest < oldest {
      let (least, most) = (oldest.defaultValueDescription, newest.defaultValueDescription)
      throw sources.conflict(
        "--tls-max \(most) allows nothing that --tlsv\(least) asks for: leave one of them out.", "tls-max",
        "tlsv\(least)")
    }
    tls.pinnedKeys = options.pinnedpubkey
    tls.revocationList = try readable("crlfile", options.crlfile, sources)
    if let keys = tls.pinnedKeys, !keys.hasPrefix("sha256//") { _ = try readable("pinnedpubkey", keys, sources) }
    if options.cert == nil, let key = options.key, sources.found("key") == nil {
      throw ValidationError("--key \(key) needs a --cert: give that too.")
    }
    tls.identity = try sources.naming("cert", options.cert) {
      try ClientCertificate.identity($0, options, passphrase: sources.environment["DLM_CERT_PASSPHRASE"])
    }
    return tls
  }

  /// `--proxy` or its setting, else the variables that curl knows. An empty one is no proxy.
  /// - Throws: `ValidationError` that names the place, never the login.
  private static func proxies(_ text: String?, _ sources: SettingsSources) throws -> ProxyRoutes? {
    guard let text else {
      let http = try first(of: httpVariables, in: sources.environment)
      let https = try first(of: httpsVariables, in: sources.environment)
      return http == nil && https == nil ? nil : ProxyRoutes(http: http, https: https)
    }
    var place = "--proxy"
    if let origin = sources.found("proxy")?.origin {
      place = if case .file = origin { "\(origin.name): proxy" } else { origin.name }
    }
    return text.isEmpty ? nil : ProxyRoutes(Proxy(try address(text, from: place)))
  }

  /// libcurl's own lists, in its order. HTTP_PROXY counts in lower case only, since a CGI server sets it from a header.
  private static let httpVariables = ["http_proxy", "all_proxy", "ALL_PROXY"]
  private static let httpsVariables = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]

  private static func first(of names: [String], in environment: [String: String]) throws -> ProxyAddress? {
    for name in names {
      if let text = environment[name], !text.isEmpty { return try address(text, from: name) }
    }
    return nil
  }

  private static func address(_ text: String, from place: String) throws -> ProxyAddress {
    do {
      return try ProxyAddress(text)
    } catch { throw ValidationError("\(place) \"\(Redaction.withoutLogin(text))\": \(UsageMessages.text(error)).") }
  }
}

/// `--cert`, `--key` and the pass phrase, checked before the run, so that a wrong path is one message.
/// The pass phrase is never on the command line, which every user of the machine can see (ps).
enum ClientCertificate {
  /// - Parameter passphrase: DLM_CERT_PASSPHRASE.
  static func identity(
    _ certificate: String, _ options: RunOptions, passphrase: String?
  ) throws -> TLSOptions.Identity {
    let key = options.key
    let bytes = try bytes("--cert", certificate)
    let isPKCS12 = options.certType.map { $0 == .p12 } ?? (bytes.first == 0x30)
    if isPKCS12, key != nil {
      throw ValidationError(
        "--key is for a certificate in PEM, and \(certificate) is PKCS #12, which has its key in it: leave --key out.")
    }
    let isLocked = try isPKCS12 || isLockedPEM(certificate, bytes, key: key)
    let name = key ?? certificate
    var secret = try options.certPassphraseFile.map(firstLine) ?? passphrase
    if secret == nil, isLocked { secret = TerminalPrompt.secret("Pass phrase for \(name): ") }
    if secret == nil, isLocked, !isPKCS12 {
      throw ValidationError(
        "\(name) is locked with a pass phrase: name a file that has it with --cert-passphrase-file, or set "
          + "DLM_CERT_PASSPHRASE.")
    }
    return TLSOptions.Identity(
      certificate: certificate, digest: ContentHasher.digest(of: bytes).hex, isPKCS12: isPKCS12, key: key,
      passphrase: secret ?? "")
  }

  private static func isLockedPEM(_ certificate: String, _ bytes: [UInt8], key: String?) throws -> Bool {
    guard holds("-----BEGIN", bytes) else {
      throw ValidationError("--cert \(certificate) is neither PEM nor PKCS #12: name a file with your certificate.")
    }
    let keyBytes = try key.map { try Self.bytes("--key", $0) } ?? bytes
    guard holds("PRIVATE KEY-----", keyBytes) else {
      throw ValidationError(
        key.map { "--key \($0) has no private key in PEM in it: name the file that has." }
          ?? "--cert \(certificate) has no private key in it: name its file with --key.")
    }
    return holds("ENCRYPTED", keyBytes)
  }

  private static func holds(_ text: String, _ bytes: [UInt8]) -> Bool { bytes.firstRange(of: text.utf8) != nil }

  private static func firstLine(of path: String) throws -> String {
    let bytes = try bytes("--cert-passphrase-file", path)
    let line = bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") && $0 != 0 }
    return String(decoding: line, as: UTF8.self)
  }

  private static func bytes(_ option: String, _ path: String) throws -> [UInt8] {
    // No pipe, which can be read only once: libcurl reads the file for each connection.
    try UserFile.usable(path, upTo: 1 << 20) { cause in
      // curl takes FILE:PASSPHRASE here, and no message may repeat a pass phrase.
      guard option == "--cert", let colon = path.firstIndex(of: ":") else {
        return UsageMessages.unreadable(option, path, cause)
      }
      return "--cert \(path[..<colon]):… cannot be read: \(cause). It takes only a file, as every user can see a "
        + "command line; name a file that has the pass phrase with --cert-passphrase-file, or set "
        + "DLM_CERT_PASSPHRASE."
    }
  }
}
