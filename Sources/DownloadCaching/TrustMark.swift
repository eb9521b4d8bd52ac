import DownloadModel

/// What is stored is worth so much to a request (HTTP rules 18, 29 and 30).
enum Reuse: Sendable, Equatable {
  /// It was the answer to a request like this one: used while fresh, offline, copied, and continued.
  case asOwn
  /// It was the answer to a request with other credentials or selecting fields. A strong entity tag tells whether it is
  /// this one's as well: it names one representation among all of the resource's.
  case byStrongTag
  /// It came from a server that nobody checked, and this run checks: a tag may be the forger's, too.
  case never
}

/// What stood for a run's `Trust` beside what an answer brought, as it is stored: a keyed hash. Pure.
struct TrustMark: Sendable, Hashable, Codable {
  /// Empty where the request had nothing that selects or unlocks, and its server was checked as usual.
  let text: String

  static let usual = TrustMark(text: "")

  /// How the mark begins of what came from a server that nobody checked.
  static let unchecked = "!"
  private var isUnchecked: Bool { text.utf8.starts(with: Self.unchecked.utf8) }

  func reuse(of stored: TrustMark) -> Reuse {
    if stored == self { return .asOwn }
    return stored.mayRenew(self) ? .byStrongTag : .never
  }

  /// Whether a run's word may renew what is stored: who checks nobody says nothing of what was checked.
  func mayRenew(_ stored: TrustMark) -> Bool { !isUnchecked || stored.isUnchecked }
}

/// The marks of a request: of what its own address answers, and of what redirects lead to, perhaps over TLS.
struct RequestTrust: Sendable, Equatable {
  static let usual = RequestTrust(own: .usual, redirected: .usual)

  let own: TrustMark
  let redirected: TrustMark

  /// - Parameter effectiveURL: the resource that answered, where redirects led to another one.
  subscript(effectiveURL: String?) -> TrustMark { effectiveURL == nil ? own : redirected }
}
