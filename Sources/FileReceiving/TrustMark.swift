/// What a stored answer is worth to a request (HTTP rules 18, 29 and 30).
package enum Reuse: Sendable, Equatable {
  /// It was the answer to a request like this one: used while fresh, offline, copied, and continued.
  case asOwn
  /// It was the answer to a request with other credentials or selecting fields. A strong entity tag tells whether it is
  /// this one's too, since it names one representation among all of the resource's.
  case byStrongTag
  /// It came from a server that nobody checked, and this run checks: a tag may be the forger's, too.
  case never
}

/// A keyed hash of a run's `Trust` and of what answers brought, as it is stored.
package struct TrustMark: Sendable, Hashable, Codable {
  /// Empty where the request had nothing that selects or unlocks, and its server was checked as usual.
  package let text: String

  package init(text: String) { self.text = text }

  package static let usual = TrustMark(text: "")

  /// The first byte of a mark of what came from a server that nobody checked.
  package static let unchecked = "!"
  private var isUnchecked: Bool { text.utf8.starts(with: Self.unchecked.utf8) }

  package func reuse(of stored: TrustMark) -> Reuse {
    if stored == self { return .asOwn }
    return stored.mayRenew(self) ? .byStrongTag : .never
  }

  /// Whether a run's word may renew what is stored: who checks nobody says nothing of what was checked.
  package func mayRenew(_ stored: TrustMark) -> Bool { !isUnchecked || stored.isUnchecked }
}

/// The marks of a request: of its own address's answer, and of what redirects lead to, perhaps over TLS.
package struct RequestTrust: Sendable, Equatable {
  static let usual = RequestTrust(own: .usual, redirected: .usual)

  package let own: TrustMark
  let redirected: TrustMark

  package init(own: TrustMark, redirected: TrustMark) { (self.own, self.redirected) = (own, redirected) }

  /// - Parameter effectiveURL: the resource that answered, where redirects led to another one.
  package subscript(effectiveURL: String?) -> TrustMark { effectiveURL == nil ? own : redirected }
}
