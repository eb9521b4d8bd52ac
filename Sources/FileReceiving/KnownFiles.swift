import DownloadModel

/// What the index knows about one request.
package final class KnownFiles: Sendable {
  /// The file that this address has here under the wanted name, or was given another name instead, intact.
  package let own: CacheRow?
  /// The same address's file elsewhere, intact and worth asking the server about.
  package let elsewhere: CacheRow?
  /// What each is worth to this request.
  package let ownReuse: Reuse
  package let elsewhereReuse: Reuse
  package let ownership: DownloadPlan.Ownership

  /// The answers of a first run and of a run without an index.
  package static let notAsked = KnownFiles(.unknown)
  package static let nothing = KnownFiles(.known(nil))

  package var isNothing: Bool { own == nil && elsewhere == nil }
  /// The file that this address has here, intact or not.
  package var written: CacheRow? { if case .known(let row) = ownership { row } else { nil } }

  package init(
    _ ownership: DownloadPlan.Ownership, own: CacheRow? = nil, elsewhere: CacheRow? = nil,
    reuse: (own: Reuse, elsewhere: Reuse) = (.asOwn, .asOwn)
  ) {
    self.own = own
    self.elsewhere = elsewhere
    (ownReuse, elsewhereReuse) = reuse
    self.ownership = ownership
  }
}
