import DownloadModel
import FileReceiving

/// The credentials and settings that a run's answers depend on (HTTP rules 18, 29 and 30), as hashes keyed by the
/// user's secret, so that no credential is stored. Isolated state of one cache actor.
final class RequestFingerprint {
  /// `RequestFields.key` of requests, and the client certificate.
  private typealias Sent = (fields: String?, identity: String?)

  private let configuration: CacheConfiguration
  private let secret: UserSecret
  private let runNumber: UInt64
  private let own, strangers: Sent
  private let cookies: [String: String]
  /// The selection for each `Vary` text: most servers send the same text in each answer.
  private var selections: [String: String?] = [:]

  init(_ configuration: CacheConfiguration, _ secret: UserSecret, runNumber: UInt64) {
    self.configuration = configuration
    self.secret = secret
    self.runNumber = runNumber
    own = (configuration.fields.key, configuration.trust.tls.identity.map { "certificate \($0.digest)" })
    cookies = Dictionary(grouping: configuration.trust.cookies, by: Trust.cookieDomain)
      .mapValues { $0.sorted().joined(separator: "\n") }
    // Third parties get neither header lines nor a certificate, and lines that are not sent select no answer.
    var trust = configuration.trust
    trust.headerLines = []
    let lacksLines = !configuration.trust.headerLines.isEmpty
    strangers = (RequestFields(trust).key ?? (lacksLines ? "" : nil), nil)
  }

  /// The checks of servers over TLS, with files by their content.
  private lazy var checks = listChecks(configuration.trust.fileDigest)
  /// The same, with files by their names. A request over plain HTTP may be redirected to TLS, but need not read the
  /// files.
  private lazy var namedChecks = listChecks { $0 }

  private func listChecks(_ content: (String) -> String) -> [String] {
    let trust = configuration.trust
    return [
      trust.isInsecure ? "insecure" : nil, trust.tls.isRequired ? "tls" : nil,
      trust.caFile.map { "authorities \(content($0))" },
      trust.caFolder.map { "folder \($0)" },
      trust.tls.pinnedKeys.map { "keys \(content($0))" },
      trust.tls.revocationList.map { "revoked \(content($0))" },
    ].compactMap(\.self)
  }

  /// The user's client certificate and the checks of servers, as text; `nil` for the defaults.
  private func security(_ sent: Sent, _ isTLS: Bool) -> String? {
    let settings = (isTLS ? checks : namedChecks) + [sent.identity].compactMap(\.self)
    return settings.isEmpty ? nil : settings.joined(separator: "\0")
  }

  // MARK: Trust

  /// The trust under which a request is answered. A request that a list steers has a mark of its own, which no request
  /// of the URL alone has (HTTP rules 47 and 48).
  func trust(of request: DownloadRequest) -> RequestTrust {
    let trust = unsteeredTrust(of: request)
    guard request.isSteered else { return trust }
    let choice = [trust.redirected.text, request.isAtMirror ? request.source.resource : ""] + request.headerLines
    let mark = TrustMark(text: TrustMark.steered + secret.tag("choice", choice.joined(separator: "\0")))
    return RequestTrust(own: mark, redirected: mark, proved: request.provenance == .user ? trust.redirected : nil)
  }

  /// Over plain HTTP, no server is checked, whatever the settings are.
  private func unsteeredTrust(of request: DownloadRequest) -> RequestTrust {
    let address = request.source
    let isStranger = request.sourceProvenance == .thirdParty
    let isTLS = address.scheme.isEncrypted || address.scheme.isFTP && configuration.trust.tls.isRequired
    let logins = configuration.trust.logins
    let hasLogin = logins?.hasLogin(for: address.host, isHome: !isStranger) == true
    let cookies = cookies(for: address.host)
    var identity = address.scheme.isSSH ? configuration.trust.identity : nil
    if address.scheme == .s3, !configuration.trust.storage.isEmpty {
      identity = (configuration.trust.storage + [isStranger ? "unsigned" : ""]).joined(separator: "\n")
    }
    let lines = request.headerLines.isEmpty ? [] : [request.headerLines.joined(separator: "\n")]
    guard hasLogin || address.hasCredentials || cookies != nil || identity != nil || !lines.isEmpty else {
      let usual = isTLS ? usualOverTLS : usualOverPlain
      return isStranger ? usual.strangers : usual.own
    }
    let login = hasLogin ? logins?.login(for: address.host) : nil
    return trust(
      isStranger ? strangers : own,
      [address.hasCredentials ? String(address.login) : nil, login, cookies, identity] + lines,
      isTLS)
  }

  /// The cookies that a host may get (RFC 6265 §5.1.3), as text; `nil` without cookies.
  private func cookies(for host: String) -> String? {
    if cookies.isEmpty { return nil }
    var found: String?
    var domain = host[...]
    while true {
      if let lines = cookies[String(domain)] { found = (found ?? "") + lines + "\n" }
      guard let dot = domain.firstIndex(of: ".") else { return found }
      domain = domain[dot...].dropFirst()
    }
  }

  /// For requests without a login: nearly all, so that it is computed once.
  private lazy var usualOverTLS = (own: trust(own, [], true), strangers: trust(strangers, [], true))
  private lazy var usualOverPlain = (own: trust(own, [], false), strangers: trust(strangers, [], false))

  private func trust(_ sent: Sent, _ secrets: [String?], _ isTLS: Bool) -> RequestTrust {
    let security = security(sent, isTLS)
    let secrets = secrets + configuration.trust.route
    let redirected = mark([security, sent.fields] + secrets)
    let isWhole = isTLS || security == nil
    return RequestTrust(own: isWhole ? redirected : mark([nil, sent.fields] + secrets), redirected: redirected)
  }

  /// - Parameter parts: the security of the connection first.
  private func mark(_ parts: [String?]) -> TrustMark {
    guard parts.contains(where: { $0 != nil }) else { return .usual }
    let text = parts.map { $0.map { "\($0.utf8.count)\0\($0)" } ?? "" }.joined(separator: "\0")
    let isUnchecked = parts[0] != nil && configuration.trust.isUnchecked
    return TrustMark(text: (isUnchecked ? TrustMark.unchecked : "") + secret.tag("trust", text))
  }

  func reuse(of row: CacheRow, under trust: RequestTrust) -> Reuse {
    let reuse = trust[row.effectiveURL].reuse(of: row.trust)
    return reuse == .asOwn && !selects(row) ? .byStrongTag : reuse
  }

  // MARK: Selection

  /// A hash of the request fields that an answer depends on: the harmless fields that its `Vary` names (HTTP rule 29)
  /// and, after redirects, all logins and cookies, because any of them may have been sent to other hosts. Only the
  /// transport knows the cookies that servers set, so an answer that varies by cookies matches within this run only.
  private func selection(of row: CacheRow) -> String? {
    let vary = row.freshness.vary
    if let vary, configuration.holdsCookies(), RequestFields.names("cookie", vary: vary) {
      return secret.tag("selection", "cookies of run \(runNumber)")
    }
    if row.effectiveURL != nil, let secrets = secretsOfAllHosts {
      let values = vary.flatMap { configuration.fields.values(namedBy: $0) } ?? ""
      return secret.tag("selection", values + "\0" + secrets)
    }
    guard let vary else { return nil }
    if let known = selections[vary] { return known }
    let made = configuration.fields.values(namedBy: vary).map { secret.tag("selection", $0) }
    if selections.count < 64 { selections[vary] = .some(made) }
    return made
  }

  private lazy var secretsOfAllHosts: String? = {
    let logins = configuration.trust.logins?.all
    return cookies.isEmpty ? logins : ([logins ?? ""] + configuration.trust.cookies.sorted()).joined(separator: "\n")
  }()

  /// Whether a row's file answered a request like those of this run.
  private func selects(_ row: CacheRow) -> Bool {
    row.freshness.vary.map { RequestFields.names("*", vary: $0) } != true && row.selection == selection(of: row)
  }

  func selected(_ row: CacheRow) -> CacheRow {
    let selection = selection(of: row)
    guard selection != row.selection, row.freshness.vary != nil || row.effectiveURL != nil else { return row }
    var row = row
    row.fields.selection = selection
    return row
  }
}
