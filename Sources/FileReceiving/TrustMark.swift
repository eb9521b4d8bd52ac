/// A keyed hash of the credentials and settings under which a request is answered (`RequestFingerprint`), as stored.
package struct TrustMark: Hashable, Codable {
  /// Empty if the request had no selecting fields or credentials, and its server was checked as usual.
  package let text: String

  package init(text: String) { self.text = text }

  package static let usual = TrustMark(text: "")

  /// The first byte of a mark for an unchecked server.
  package static let unchecked = "!"
  var isUnchecked: Bool { text.utf8.starts(with: Self.unchecked.utf8) }

  /// The first byte of a mark for a request that a list steered (`DownloadRequest.isSteered`).
  package static let steered = "?"
  var isSteered: Bool { text.utf8.starts(with: Self.steered.utf8) }

  package func reuse(of stored: TrustMark) -> Reuse {
    if stored == self { return .asOwn }
    return stored.mayRenew(self) ? .byStrongTag : .never
  }

  /// Whether an answer under this mark may renew one stored under `stored`. An unchecked server cannot confirm the
  /// answer of a checked one, nor a list's mirror that of the URL's owner: either can repeat a strong tag.
  package func mayRenew(_ stored: TrustMark) -> Bool {
    self == stored || !isSteered && !stored.isSteered && (!isUnchecked || stored.isUnchecked)
  }
}
