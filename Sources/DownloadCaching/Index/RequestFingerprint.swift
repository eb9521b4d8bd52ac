import DownloadModel
import FileReceiving

/// What a run's requests depend on beside their addresses (HTTP rules 18, 29 and 30), as hashes keyed by the user's
/// secret, so that no credential is stored. Isolated state of one cache actor.
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
    own = (configuration.fields.key, configuration.trust.tls.identity.map { "certificate " + $0.digest })
    cookies = Dictionary(grouping: configuration.trust.cookies, by: Trust.cookieDomain)
      .mapValues { $0.sorted().joined(separator: "\n") }
    // Strangers get neither header lines nor a certificate, and lines that are not sent select no answer.
    var trust = configuration.trust
    trust.headerLines = []
    let lacksLines = !configuration.trust.headerLines.isEmpty
    strangers = (RequestFields(trust).key ?? (lacksLines ? "" : nil), nil)
  }

  /// How servers are checked over TLS, the files by their content.
  private lazy var checks = listChecks(configuration.trust.fileDigest)
  /// The same, with the files by their names: all that a request over plain HTTP may be redirected to, so that it need
  /// not read them.
  private lazy var namedChecks = listChecks { $0 }

  private func listChecks(_ content: (String) -> String) -> [String] {
    let trust = configuration.trust
    return [
      trust.isInsecure ? "insecure" : nil, trust.caFile.map { "authorities " + content($0) },
      trust.caFolder.map { "folder " + $0 },
      trust.tls.pinnedKeys.map { "keys " + content($0) },
      trust.tls.revocationList.map { "revoked " + content($0) },
    ].compactMap(\.self)
  }

  /// Who the user is to servers over TLS, and how they are checked, as text; nil for the usual.
  private func security(_ sent: Sent, _ isTLS: Bool) -> String? {
    let settings = (isTLS ? checks : namedChecks) + [sent.identity].compactMap(\.self)
    return settings.isEmpty ? nil : settings.joined(separator: "\0")
  }

  // MARK: Trust

  /// Under which trust a request is answered. What a list steered has a mark of its own, which no request of the URL
  /// alone has (HTTP rules 47 and 48).
  func trust(of request: DownloadRequest) -> RequestTrust {
    let trust = unsteeredTrust(of: request)
    guard request.isSteered else { return trust }
    let choice = [trust.redirected.text, request.isAtMirror ? request.source.resource : ""] + request.headerLines
    let mark = TrustMark(text: TrustMark.steered + secret.tag("choice", choice.joined(separator: "\0")))
    return RequestTrust(own: mark, redirected: mark, proved: request.provenance == .user ? trust.redirected : nil)
  }

  /// Over plain HTTP no server is checked, whatever the settings say.
  private func unsteeredTrust(of request: DownloadRequest) -> RequestTrust {
    let address = request.source
    let isStranger = request.sourceProvenance == .stranger
    let isTLS = address.scheme == .https
    let logins = configuration.trust.logins
    let hasLogin = logins?.hasLogin(for: address.host, isHome: !isStranger) == true
    let cookies = cookies(for: address.host)
    let lines = request.headerLines.isEmpty ? [] : [request.headerLines.joined(separator: "\n")]
    guard hasLogin || address.hasCredentials || cookies != nil || !lines.isEmpty else {
      let usual = isTLS ? usualOverTLS : usualOverPlain
      return isStranger ? usual.strangers : usual.own
    }
    let login = hasLogin ? logins?.login(for: address.host) : nil
    return trust(
      isStranger ? strangers : own, [address.hasCredentials ? String(address.login) : nil, login, cookies] + lines,
      isTLS)
  }

  /// The cookies that a host may get (RFC 6265 §5.1.3), as text; nil for none.
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

  /// Of requests without a login: nearly all, so that it is computed once.
  private lazy var usualOverTLS = (own: trust(own, [], true), strangers: trust(strangers, [], true))
  private lazy var usualOverPlain = (own: trust(own, [], false), strangers: trust(strangers, [], false))

  private func trust(_ sent: Sent, _ secrets: [String?], _ isTLS: Bool) -> RequestTrust {
    let security = security(sent, isTLS)
    let redirected = mark([security, sent.fields] + secrets)
    let isWhole = isTLS || security == nil
    return RequestTrust(own: isWhole ? redirected : mark([nil, sent.fields] + secrets), redirected: redirected)
  }

  /// - Parameter parts: first what the connection's security is.
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

  /// A hash of what an answer depends on beside its trust: the harmless fields that its `Vary` names (HTTP rule 29),
  /// and all logins and cookies where redirects led to it, since any of them may have been sent to other hosts. Only
  /// the transport knows the cookies that servers set: so one that varies by cookies matches within this run alone.
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

  /// Whether a row's file was the answer to a request like those of this run.
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

/// The header lines that the user adds to every request of a run, as far as an answer may depend on them.
///
/// Lines that can select or unlock an answer are part of what it is kept under (HTTP rule 30). On a harmless one it
/// depends only if its `Vary` names it (RFC 9111 §4.1; HTTP rule 29).
struct RequestFields {
  private let keyed: [HeaderLine]
  private let harmless: [HeaderLine]
  /// RFC 9111 §5.2.1.
  let directives: RequestDirectives
  /// `Cache-Control: no-store` (RFC 9111 §5.2.1.5).
  var forbidsStoring: Bool { directives.forbidsStoring }

  /// No server chooses another file because of these.
  private static let harmlessNames: Set<String> = [
    "user-agent", "cache-control", "pragma", "connection", "keep-alive", "proxy-connection", "te", "priority", "dnt",
    "upgrade-insecure-requests", "traceparent", "tracestate", "x-request-id", "x-correlation-id",
  ]

  /// `lines` are `Name: value` as the user wrote them; `userAgent` is sent unless one of them gives another.
  init(_ lines: [String] = [], userAgent: String = "") {
    var fields: [HeaderLine] = []
    for line in lines {
      let field = HeaderLine(line)
      // The same line in the settings file and on the command line counts once.
      if !fields.contains(field) { fields.append(field) }
    }
    if !userAgent.isEmpty, !fields.contains(where: { $0.name == "user-agent" }) {
      fields.append(HeaderLine("User-Agent: \(userAgent)"))
    }
    // Stable: the order of lines with one name is part of what they say (RFC 9110 §5.3).
    let sorted = fields.enumerated().sorted { ($0.element.name, $0.offset) < ($1.element.name, $1.offset) }
    keyed = sorted.map(\.element).filter { !Self.harmlessNames.contains($0.name) }
    harmless = sorted.map(\.element).filter { Self.harmlessNames.contains($0.name) }
    func values(_ name: String) -> String? {
      let values = fields.filter { $0.name == name }.map(\.value)
      return values.isEmpty ? nil : values.joined(separator: ",")
    }
    directives = RequestDirectives(cacheControl: values("cache-control"), pragma: values("pragma"))
  }

  init(_ trust: Trust) { self.init(trust.headerLines, userAgent: trust.userAgent) }

  /// The fields that are not harmless, as text; nil for none. May hold secrets.
  var key: String? { keyed.isEmpty ? nil : Self.text(keyed) }

  /// The values of the harmless fields that an answer's `Vary` names; nil for none.
  func values(namedBy vary: String) -> String? {
    let named = harmless.filter { Self.names($0.name, vary: vary) }
    return named.isEmpty ? nil : Self.text(named)
  }

  /// Whether a `Vary` names a field, given in lower case; `*` says that no later request matches (RFC 9111 §4.1).
  static func names(_ field: String, vary: String) -> Bool {
    vary.split(separator: ",").contains {
      OptionalWhiteSpace.trimmed($0).utf8.elementsEqual(field.utf8) { $0 | 0x20 == $1 | 0x20 }
    }
  }

  private static func text(_ fields: [HeaderLine]) -> String { fields.map { "\($0.name):\($0.value)\n" }.joined() }
}

/// What the user's request lines say about stored answers (RFC 9111 §5.2.1).
struct RequestDirectives: Equatable {
  /// Seconds; an older answer is asked about. Nil for any age.
  var maxAge: Int64?
  /// Seconds for which an answer must still be fresh.
  var minFresh: Int64 = 0
  /// Seconds for which an answer may have been stale.
  var maxStale: Int64 = 0
  /// Seconds for which it may have been stale where asking fails (RFC 5861 §4).
  var staleIfError: Int64 = 0
  /// `no-cache`: no answer is used unasked.
  var asksAlways = false
  /// `only-if-cached`: nothing is asked.
  var onlyIfCached = false
  /// `no-store`: nothing of the request may be kept.
  var forbidsStoring = false

  /// Both are the values of all such lines, joined with commas. Pragma counts only without Cache-Control (§5.4).
  init(cacheControl: String? = nil, pragma: String? = nil) {
    // Mostly the user has none.
    if cacheControl == nil, pragma == nil { return }
    let control = CacheControl(cacheControl)
    maxAge = control.seconds("max-age", strictest: 0)
    minFresh = control.seconds("min-fresh", strictest: .max) ?? 0
    maxStale = control.seconds("max-stale", strictest: 0, bare: .max) ?? 0
    staleIfError = control.seconds("stale-if-error", strictest: 0) ?? 0
    asksAlways = control.restricts("no-cache")
    forbidsStoring = control.restricts("no-store")
    onlyIfCached = control.permits("only-if-cached")
    if control.isEmpty, let pragma { asksAlways = CacheControl(pragma).restricts("no-cache") }
  }

  /// What restricts more counts, and the longest of the times that permit.
  func combined(_ other: RequestDirectives) -> RequestDirectives {
    var both = self
    both.maxAge = [maxAge, other.maxAge].compactMap(\.self).min()
    both.minFresh = max(minFresh, other.minFresh)
    both.maxStale = max(maxStale, other.maxStale)
    both.staleIfError = max(staleIfError, other.staleIfError)
    both.asksAlways = asksAlways || other.asksAlways
    both.onlyIfCached = onlyIfCached || other.onlyIfCached
    both.forbidsStoring = forbidsStoring || other.forbidsStoring
    return both
  }
}
