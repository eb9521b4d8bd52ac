/// What the index says about this address's earlier file in the output folder.
indirect enum Ownership: Sendable, Equatable {
  /// Not asked: an empty index is not asked before a transfer, so that a first run costs nothing.
  case unknown
  case known(CacheRow?)

  /// A run without an index: no file here counts as dlm's own.
  static let nobodys = Ownership.known(nil)
}
