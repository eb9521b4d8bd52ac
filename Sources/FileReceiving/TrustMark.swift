import DownloadModel

/// A keyed hash of a run's `Trust` and of what answers brought, as it is stored.
package struct TrustMark: Hashable, Codable {
  /// Empty where the request had nothing that selects or unlocks, and its server was checked as usual.
  package let text: String

  package init(text: String) { self.text = text }

  package static let usual = TrustMark(text: "")

  /// The first byte of the mark of a file from an unchecked server.
  package static let unchecked = "!"
  var isUnchecked: Bool { text.utf8.starts(with: Self.unchecked.utf8) }

  /// The first byte of a mark of what a list steered: see `DownloadRequest.isSteered`.
  package static let steered = "?"
  var isSteered: Bool { text.utf8.starts(with: Self.steered.utf8) }

  package func reuse(of stored: TrustMark) -> Reuse {
    if stored == self { return .asOwn }
    return stored.mayRenew(self) ? .byStrongTag : .never
  }

  /// Whether a run's word may renew what is stored. A server that was not checked says nothing of what a checked one
  /// sent, and a list's mirror nothing of what the URL's owner sent: it may repeat the owner's strong tag.
  package func mayRenew(_ stored: TrustMark) -> Bool {
    self == stored || !isSteered && !stored.isSteered && (!isUnchecked || stored.isUnchecked)
  }
}
