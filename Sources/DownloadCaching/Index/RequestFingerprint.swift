import DownloadModel
import Glibc
import Synchronization
import SystemPackage

/// What a run's requests depend on beside their addresses (HTTP rules 18, 29 and 30), as hashes keyed by the user's
/// secret, so that no credential is stored. Isolated state of one cache actor.
final class RequestFingerprint {
  /// `RequestFields.key` and `security` of requests.
  private typealias Sent = (fields: String?, security: String?)

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
    own = (configuration.fields.key, Self.security(configuration.trust))
    cookies = Dictionary(grouping: configuration.trust.cookies, by: Trust.cookieDomain)
      .mapValues { $0.sorted().joined(separator: "\n") }
    // Strangers get neither header lines nor a certificate, and lines that are not sent select no answer.
    var trust = configuration.trust
    (trust.headerLines, trust.tls.identity) = ([], nil)
    let lacksLines = !configuration.trust.headerLines.isEmpty
    strangers = (RequestFields(trust).key ?? (lacksLines ? "" : nil), Self.security(trust))
  }

  /// Who the user is to servers over TLS, and how they are checked, as text; nil for what is usual.
  private static func security(_ trust: Trust) -> String? {
    func content(_ path: String) -> String { trust.fileDigests[path] ?? path }
    let settings = [
      trust.isInsecure ? "insecure" : nil, trust.caFile.map { "authorities " + content($0) },
      trust.tls.pinnedKeys.map { "keys " + content($0) }, trust.tls.revocationList.map { "revoked " + content($0) },
      trust.tls.identity.map { "certificate " + $0.digest },
    ].compactMap(\.self)
    return settings.isEmpty ? nil : settings.joined(separator: "\0")
  }

  // MARK: Trust

  /// Under which trust a request is answered. Over plain HTTP nobody is checked, whatever the settings say.
  func trust(of request: DownloadRequest) -> RequestTrust {
    let (address, isStranger) = (request.address, request.provenance == .stranger)
    let isTLS = address.scheme == .https
    let logins = configuration.trust.logins
    let hasLogin = logins?.hasLogin(for: address.host, isHome: !isStranger) == true
    let cookies = cookies(for: address.host)
    guard hasLogin || address.hasCredentials || cookies != nil else {
      let usual = isStranger ? usualOfStrangers : usualOfOwn
      return isTLS ? usual.tls : usual.plain
    }
    let login = hasLogin ? logins?.login(for: address.host) : nil
    return trust(isStranger ? strangers : own, [Self.userInfo(address), login, cookies], isTLS)
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
  private lazy var usualOfOwn = (tls: trust(own, [], true), plain: trust(own, [], false))
  private lazy var usualOfStrangers = (tls: trust(strangers, [], true), plain: trust(strangers, [], false))

  private func trust(_ sent: Sent, _ secrets: [String?], _ isTLS: Bool) -> RequestTrust {
    let redirected = mark([sent.security, sent.fields] + secrets)
    let isWhole = isTLS || sent.security == nil
    return RequestTrust(own: isWhole ? redirected : mark([nil, sent.fields] + secrets), redirected: redirected)
  }

  /// - Parameter parts: first what the connection's security is.
  private func mark(_ parts: [String?]) -> TrustMark {
    guard parts.contains(where: { $0 != nil }) else { return .usual }
    let text = parts.map { $0.map { "\($0.utf8.count)\0\($0)" } ?? "" }.joined(separator: "\0")
    let isUnchecked = parts[0] != nil && configuration.trust.isUnchecked
    return TrustMark(text: (isUnchecked ? TrustMark.unchecked : "") + secret.tag("trust", text))
  }

  /// `user:password` as written, without the `@`; nil for an address without credentials.
  private static func userInfo(_ address: Address) -> String? {
    guard address.hasCredentials else { return nil }
    let text = address.wireText.utf8
    let start = text.index(text.startIndex, offsetBy: address.scheme.rawValue.utf8.count + 3)
    let length = text.count - address.key.utf8.count
    return String(address.wireText[start..<text.index(start, offsetBy: length)])
  }

  func reuse(of row: CacheRow, under trust: RequestTrust) -> Reuse {
    let reuse = trust[row.effectiveURL].reuse(of: row.trust)
    return reuse == .asOwn && !selects(row) ? .byStrongTag : reuse
  }

  // MARK: Selection

  /// A hash of what an answer depends on beside its trust: the harmless fields that its `Vary` names (HTTP rule 29),
  /// and all logins and cookies where redirects led to it, since any of them may have been sent to other hosts. Only
  /// the transport knows the cookies that servers set: so an answer that varies by cookies matches within this run
  /// alone.
  private func selection(of row: CacheRow) -> String? {
    let vary = row.freshness.vary
    if let vary, configuration.holdsCookies(), RequestFields.isCookies(vary: vary) {
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
    row.freshness.vary.map { RequestFields.isAny(vary: $0) } != true && row.selection == selection(of: row)
  }

  func selected(_ row: CacheRow) -> CacheRow {
    let selection = selection(of: row)
    guard selection != row.selection, row.freshness.vary != nil || row.effectiveURL != nil else { return row }
    var row = row
    row.selection = selection
    return row
  }
}

/// A secret of this user, by which dlm recognises what it wrote: marks of trust (`RequestFingerprint`), metadata of
/// parts, journals. Another user who can write into a folder cannot make one that dlm would accept.
///
/// 32 random bytes in a file that only the user can read. Without that file the secret lasts as long as this process.
final class UserSecret: Sendable {
  static let fileName = "scope-key"
  private static let length = 32

  private let folder: FilePath?
  private let state = Lock(State())

  private struct State {
    var key: [UInt8]?
    var failure: Errno?
  }

  /// Touches nothing on disk yet. Without a folder the secret lasts as long as this process.
  init(in folder: FilePath?) { self.folder = folder }

  static func forThisProcess() -> UserSecret { UserSecret(in: nil) }

  var key: [UInt8] {
    state.withLock { state in
      if let key = state.key { return key }
      var kept: [UInt8]?
      if let folder {
        do throws(Errno) { kept = try Self.kept(in: Folder(own: folder)) } catch { state.failure = error }
      }
      let key = kept ?? Self.random(Self.length)
      state.key = key
      return key
    }
  }

  /// Why the secret of earlier runs could not be read; told once.
  func takeFailure() -> Errno? {
    state.withLock { state in
      defer { state.failure = nil }
      return state.failure
    }
  }

  func takeWarning() -> CacheWarning? {
    takeFailure().map {
      CacheWarning(.unusable, path: (folder ?? "").appending(Self.fileName), detail: CacheWarning.words($0))
    }
  }

  /// 128 bits of HMAC-SHA-256, as hexadecimal digits. A tag for one purpose does not hold for another.
  func tag(_ purpose: String, _ text: [UInt8]) -> String {
    ContentHasher.authenticationCode(of: Array(purpose.utf8) + [0] + text, key: key).prefix(16).hexadecimal
  }

  func tag(_ purpose: String, _ text: String) -> String { tag(purpose, Array(text.utf8)) }

  /// A file name that only this user's dlm can compute: the stem, and a tag of it.
  func name(_ purpose: String, _ stem: String) -> String { "\(stem)-\(tag(purpose, stem))" }

  func isName(_ purpose: String, _ name: String) -> Bool {
    guard let dash = name.utf8.lastIndex(of: UInt8(ascii: "-")) else { return false }
    return name == self.name(purpose, String(name[..<dash]))
  }

  // MARK: The file

  private static func random(_ count: Int) -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
  }

  /// - Throws: errno of reading or making it; EPERM when the file is not private to this user.
  private static func kept(in folder: Folder) throws(Errno) -> [UInt8] {
    if let key = try read(folder) { return key }
    try write(random(length), into: folder)
    // Another process may have been faster: both must use the same key.
    guard let key = try read(folder) else { throw .noSuchFileOrDirectory }
    return key
  }

  private static func read(_ folder: Folder) throws(Errno) -> [UInt8]? {
    do throws(Errno) {
      let file = try folder.open(fileName, O_RDONLY | O_NONBLOCK)
      guard try file.isOwn(closedTo: 0o077) else { throw .notPermitted }
      let bytes = try file.read(length + 1)
      guard bytes.count == length else { throw .invalidArgument }
      return bytes
    } catch .noSuchFileOrDirectory {
      return nil
    }
  }

  /// Named only when whole, so that a kill leaves nothing where the disk has files without names.
  private static func write(_ bytes: [UInt8], into folder: Folder) throws(Errno) {
    let route = folder.routeForUnnamedFiles()
    let draft = "\(fileName).\(random(16).hexadecimal)"
    do throws(Errno) {
      let file =
        if route == nil {
          try folder.open(draft, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
        } else {
          try folder.openUnnamed(mode: 0o600)
        }
      try file.write(bytes)
      try file.sync()
      if let route { try folder.link(file, as: fileName, route) } else { try folder.rename(draft, toFree: fileName) }
    } catch {
      if route == nil { try folder.remove(draft) }
      if error != .fileExists { throw error }
    }
  }
}

/// What a stored answer is worth to a request (HTTP rules 18, 29 and 30).
enum Reuse: Sendable, Equatable {
  /// It was the answer to a request like this one: used while fresh, offline, copied, and continued.
  case asOwn
  /// It was the answer to a request with other credentials or selecting fields. A strong entity tag tells whether it is
  /// this one's too, since it names one representation among all of the resource's.
  case byStrongTag
  /// It came from a server that nobody checked, and this run checks: a tag may be the forger's, too.
  case never
}

/// A keyed hash of a run's `Trust` and of what answers brought, as it is stored.
struct TrustMark: Sendable, Hashable, Codable {
  /// Empty where the request had nothing that selects or unlocks, and its server was checked as usual.
  let text: String

  static let usual = TrustMark(text: "")

  /// The first byte of a mark of what came from a server that nobody checked.
  static let unchecked = "!"
  private var isUnchecked: Bool { text.utf8.starts(with: Self.unchecked.utf8) }

  func reuse(of stored: TrustMark) -> Reuse {
    if stored == self { return .asOwn }
    return stored.mayRenew(self) ? .byStrongTag : .never
  }

  /// Whether a run's word may renew what is stored: who checks nobody says nothing of what was checked.
  func mayRenew(_ stored: TrustMark) -> Bool { !isUnchecked || stored.isUnchecked }
}

/// The marks of a request: of its own address's answer, and of what redirects lead to, perhaps over TLS.
struct RequestTrust: Sendable, Equatable {
  static let usual = RequestTrust(own: .usual, redirected: .usual)

  let own: TrustMark
  let redirected: TrustMark

  /// - Parameter effectiveURL: the resource that answered, where redirects led to another one.
  subscript(effectiveURL: String?) -> TrustMark { effectiveURL == nil ? own : redirected }
}
