/// The trust marks of a request: `own` for an answer of its own URL, `redirected` for one after redirects, which may
/// lead from http to https.
package struct RequestTrust: Equatable {
  static let usual = RequestTrust(own: .usual, redirected: .usual)

  package let own: TrustMark
  package let redirected: TrustMark
  /// The mark of a mirror's file that a digest from the user proves: it is as good as the owner's. `nil` if it is not,
  /// or needs no such mark.
  let proved: TrustMark?

  package init(own: TrustMark, redirected: TrustMark, proved: TrustMark? = nil) {
    self.own = own
    self.redirected = redirected
    self.proved = proved
  }

  /// - Parameter effectiveURL: the resource that answered; `nil` without redirects.
  package subscript(effectiveURL: String?) -> TrustMark { effectiveURL == nil ? own : redirected }
}
