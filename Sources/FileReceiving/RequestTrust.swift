import DownloadModel

/// The marks of a request: of its own address's answer, and of what redirects lead to, perhaps over TLS.
package struct RequestTrust: Equatable {
  static let usual = RequestTrust(own: .usual, redirected: .usual)

  package let own: TrustMark
  package let redirected: TrustMark
  /// For a mirror's file that a digest of the user's proves: it is as good as the owner's. Nil if it is not, or needs
  /// no such mark.
  let proved: TrustMark?

  package init(own: TrustMark, redirected: TrustMark, proved: TrustMark? = nil) {
    self.own = own
    self.redirected = redirected
    self.proved = proved
  }

  /// - Parameter effectiveURL: the resource that answered, where redirects led to another one.
  package subscript(effectiveURL: String?) -> TrustMark { effectiveURL == nil ? own : redirected }
}
