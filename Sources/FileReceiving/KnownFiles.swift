/// The index's files for one request.
package final class KnownFiles: Sendable {
  /// This URL's intact file in this folder, under the wanted name or under another that it got instead.
  package let own: CacheRow?
  /// The same URL's file under another key, intact and worth a conditional request.
  package let elsewhere: CacheRow?
  /// How this request may reuse each of the two.
  package let ownReuse: Reuse
  package let elsewhereReuse: Reuse
  package let ownership: DownloadPlan.Ownership

  /// The values for an index that was empty at the start, and for a run without an index.
  package static let notAsked = KnownFiles(.unknown)
  package static let nothing = KnownFiles(.known(nil))

  package var isNothing: Bool { own == nil && elsewhere == nil }
  /// This URL's file in this folder, intact or not.
  package var written: CacheRow? { if case .known(let row) = ownership { row } else { nil } }

  package init(
    _ ownership: DownloadPlan.Ownership, own: CacheRow? = nil, elsewhere: CacheRow? = nil,
    ownReuse: Reuse = .asOwn, elsewhereReuse: Reuse = .asOwn
  ) {
    self.own = own
    self.elsewhere = elsewhere
    self.ownReuse = ownReuse
    self.elsewhereReuse = elsewhereReuse
    self.ownership = ownership
  }
}
