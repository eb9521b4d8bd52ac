import ArgumentParser
import CurlTransport
import DownloadModel
import FileReceiving
import FoundationEssentials
import Glibc
import SystemPackage

struct ConnectionSettings {
  /// `Wiring` adds the run's own values: its cookies and its width.
  private(set) var transport: TransportOptions
  let cookieJar: CookieJarFile?
  let schedule: LimitSchedule

  /// - Throws: `ValidationError` that names the option, never a secret.
  init(_ options: RunOptions, _ sources: SettingsSources) throws {
    transport = TransportOptions(
      userAgent: try sources.naming("user-agent", options.userAgent, Self.userAgent) ?? "dlm/\(DLM.version)")
    let given = options.header.isEmpty ? nil : options.header
    transport.trust.headerLines = try sources.naming("header", given, HeaderArgument.lines) ?? []
    transport.connectTimeout = options.connectTimeout?.duration ?? .seconds(10)
    transport.stallTimeout = options.stallTimeout?.duration ?? .seconds(30)
    transport.retryOn = options.retryOn
    transport.leastRate = options.minRate?.bytesPerSecond
    transport.trust.caFile = try Self.authorities(options, sources)
    if options.cacert == nil { transport.trust.caFolder = sources.environment["SSL_CERT_DIR"] }
    transport.trust.isInsecure = options.insecure
    transport.proxies = try Self.proxies(options.proxy, sources)
    try Self.setLogins(options, sources, in: &transport.trust)
    transport.trust.tls = try Self.tls(options, sources)
    transport.trust.fileDigest = Self.digest
    transport.trust.identity = try Self.readable("identity", options.identity, sources)
    transport.ssh = SSHUser { [key = options.identity] in Self.sshFiles(key) }
    let storage = AWSFiles(options, sources.environment)
    transport.trust.storage = storage.choices
    transport.storage = S3Storage(now: WallClock.seconds) { () throws(DownloadError) in try storage.access() }
    transport.usesHTTP2 = options.http2
    transport.network = try Self.network(options, sources)
    transport.trust.route = transport.network.hosts + [transport.network.socket].compactMap(\.self)
    transport.mostRedirects = options.maxRedirs.map { Int(clamping: $0) } ?? 20
    let referer = try sources.naming("referer", options.referer) {
      try HeaderArgument(argument: "Referer: \($0)").line(from: "--referer")
    }
    transport.trust.headerLines += [referer].compactMap(\.self)
    cookieJar = try sources.naming("cookie-jar", options.cookieJar, CookieJarFile.init)
    transport.limits = RateLimits(perFile: options.limitRateFile?.bytesPerSecond)
    schedule = LimitSchedule(options.limitRate, transport.limits)
  }

  private static func setLogins(_ options: RunOptions, _ sources: SettingsSources, in trust: inout Trust) throws {
    let netrc = options.netrcFile ?? (options.netrc ? homeNetrc : nil)
    if options.user != nil, netrc != nil {
      throw sources.conflict(
        "--user and --netrc-file both give logins: leave one of them out.", "netrc", "netrc-file")
    }
    trust.netrcFile = try readable("netrc-file", netrc, sources)
    // For the cache's keys, because entries serve only the logins that made them (RFC 9111 §3.5). No pipe, which can be
    // read only once: libcurl reads the file by itself for each connection.
    trust.logins = try sources.naming("netrc-file", netrc) { path in
      try NetrcLogins(
        UserFile.usable(path, upTo: 1 << 20) {
          "--netrc-file \(path) cannot be used: \($0). Name the file of your logins."
        })
    }
    guard let login = try options.user.map(login) else { return }
    trust.login = login
    trust.logins = NetrcLogins(login: login)
  }

  private static var homeNetrc: String { (ProcessInfo.processInfo.environment["HOME"] ?? "") + "/.netrc" }

  /// The logins of `~/.netrc`, for a hint; `nil` if it cannot be read.
  static let homeLogins: NetrcLogins? =
    FileDescriptor.bytes(of: FilePath(homeNetrc), upTo: 1 << 20).map(NetrcLogins.init)

  mutating func report(to onTransfer: @escaping @Sendable (TransferTimes) -> Void) { transport.onTransfer = onTransfer }

  static var sshFolder: String { (ProcessInfo.processInfo.environment["HOME"] ?? "") + "/.ssh/" }

  func onUnknownKey(_ ask: @escaping @Sendable (UnknownHostKey) async -> Bool) { transport.ssh.onUnknownKey(ask) }

  /// The files of ssh, for connections over it.
  private static func sshFiles(_ key: String?) -> SSHUser.Files {
    var files = SSHUser.Files()
    let folder = sshFolder
    let usual = ["id_ed25519", "id_ecdsa"].map { folder + $0 }
    files.key = key ?? usual.first { access($0, R_OK) == 0 }
    files.name = getpwuid(geteuid()).map { String(cString: $0.pointee.pw_name) }
    let known = [folder + "known_hosts", folder + "known_hosts2", "/etc/ssh/ssh_known_hosts"]
    files.knownHosts = known.map { path in
      FileDescriptor.bytes(of: FilePath(path), upTo: 16 << 20).map { String(utf8: $0) } ?? ""
    }.joined(separator: "\n")
    return files
  }

  private static func authorities(_ options: RunOptions, _ sources: SettingsSources) throws -> String? {
    if let path = try readable("cacert", options.cacert, sources) { return path }
    for variable in ["CURL_CA_BUNDLE", "SSL_CERT_FILE"] {
      if let path = sources.environment[variable] { return try requireReadable(variable, path) }
    }
    return nil
  }

  /// A line end would start another header line (RFC 9110 §5.5).
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
    guard access(path, R_OK) == 0, let type = FilePath(path).fileType else {
      throw ValidationError(UsageMessages.unreadable(option, path, String(cString: strerror(errno))))
    }
    // libcurl reads it for each connection, and a pipe would block all transfers of the loop.
    guard type == S_IFREG else {
      throw ValidationError(UsageMessages.unreadable(option, path, UsageMessages.notRegular))
    }
    return path
  }

  /// - Returns: an error's text if the file was removed since the start: libcurl refuses connections then.
  private static func digest(ofFile path: String) -> String {
    // Pinned keys may be given directly.
    if path.hasPrefix("sha256//") { return path }
    do {
      let file = try FileDescriptor.open(path, .readOnly, options: .closeOnExec)
      return try file.closeAfter { ContentHasher.digest(of: try file.bytes(upTo: 64 << 20)).hex }
    } catch { return "\(error)" }
  }

  private static func tls(_ options: RunOptions, _ sources: SettingsSources) throws -> TLSOptions {
    var tls = TLSOptions()
    tls.newest = options.tlsMax
    tls.oldest = options.tls13 ? .tls13 : options.tls12 ? .tls12 : nil
    if let oldest = tls.oldest, let newest = tls.newest, newest < oldest {
      let least = "tlsv\(oldest.rawValue)"
      throw sources.conflict(
        "--tls-max \(newest.rawValue) allows nothing that --\(least) asks for: leave one of them out.", "tls-max", least
      )
    }
    tls.isRequired = options.sslReqd
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

  /// - Returns: name and password.
  private static func login(_ text: String) throws -> String {
    if text.utf8.contains(.colon) { return text }
    guard !text.isEmpty, let password = TerminalPrompt.secret("Password for \(text): ") else {
      throw ValidationError("--user has no password: give NAME:PASSWORD, or a file of logins with --netrc-file.")
    }
    return "\(text):\(password)"
  }

  private static func network(_ options: RunOptions, _ sources: SettingsSources) throws -> NetworkOptions {
    var network = NetworkOptions()
    if options.ipv4, options.ipv6 {
      throw sources.conflict("-4 and -6 leave no address to connect to: leave one of them out.", "ipv4", "ipv6")
    }
    network.family = options.ipv4 ? .ipv4 : options.ipv6 ? .ipv6 : nil
    network.interface = try sources.naming("interface", options.interface, Self.interface)
    network.hosts = options.resolve.map(\.description)
    network.resolver = try sources.naming("doh-url", options.dohURL) { text in
      guard let address = try? Address(text), address.scheme == .https else {
        let shown = Redaction.redactedAddress(text)
        throw ValidationError("--doh-url \"\(shown)\" is not a URL with https, such as https://dns.example/dns-query.")
      }
      return address.wireText
    }
    if network.interface != nil, network.resolver != nil {
      throw sources.conflict(
        "--doh-url does not ask through --interface: leave one of them out, or give addresses with --resolve.",
        "doh-url", "interface")
    }
    network.socket = try sources.naming("unix-socket", options.unixSocket) { path in
      guard let type = FilePath(path).fileType, type == S_IFSOCK else {
        throw ValidationError("--unix-socket \(path) is not a socket: give the one that the server listens at.")
      }
      return path
    }
    if network.socket != nil, let proxy = options.proxy, !proxy.isEmpty {
      throw sources.conflict("--unix-socket needs no proxy: leave --proxy out.", "unix-socket", "proxy")
    }
    return network
  }

  /// Checked here, because libcurl looks up a name that is no interface as a host.
  private static func interface(_ name: String) throws -> String {
    if if_nametoindex(name) != 0 || ResolvedHost.isAddress(name[...]) { return name }
    let known = interfaces.isEmpty ? "" : "; there are \(interfaces.joined(separator: ", "))"
    throw ValidationError("--interface \(name) is not an interface, or an address, of this machine\(known).")
  }

  private static var interfaces: [String] {
    guard let all = if_nameindex() else { return [] }
    defer { if_freenameindex(all) }
    let named = sequence(first: all) { $0 + 1 }.prefix { $0.pointee.if_index != 0 }
    return named.map { String(cString: $0.pointee.if_name) }
  }

  /// `--proxy` or its setting, else the variables that curl uses. An empty value means no proxy.
  /// - Throws: `ValidationError` that names the place, never the login.
  private static func proxies(_ text: String?, _ sources: SettingsSources) throws -> [Address.Scheme: Proxy] {
    guard let text else {
      let http = try first(of: httpVariables, in: sources.environment)
      let https = try first(of: httpsVariables, in: sources.environment)
      let ftp = try first(of: ftpVariables, in: sources.environment)
      return http == nil && https == nil && ftp == nil ? [:] : Proxy.routes(http: http, https: https, ftp: ftp)
    }
    var place = "--proxy"
    if let origin = sources.found("proxy")?.origin {
      place = origin.line == nil ? origin.name : "\(origin.name): proxy"
    }
    let proxy = try text.isEmpty ? nil : address(text, from: place)
    return Proxy.routes(http: proxy, https: proxy, ftp: proxy)
  }

  /// libcurl's own lists, in its order. HTTP_PROXY counts only in lower case, because a CGI server sets it from a
  /// header.
  private static let httpVariables = ["http_proxy", "all_proxy", "ALL_PROXY"]
  private static let httpsVariables = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
  private static let ftpVariables = ["ftp_proxy", "FTP_PROXY", "all_proxy", "ALL_PROXY"]

  /// `; http_proxy in the environment names it`: for a proxy that was not typed.
  static func origin(of proxy: String) -> String {
    let environment = ProcessInfo.processInfo.environment
    let variable = (httpVariables + httpsVariables + ftpVariables).first { name in
      environment[name].flatMap { try? ProxyAddress($0) }?.name == proxy
    }
    return variable.map { "; \($0) in the environment names it (--proxy '' uses none)" } ?? ""
  }

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
