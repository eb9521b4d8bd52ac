/// What the index says about this address's earlier file in the output folder.
enum Ownership: Sendable, Equatable {
  /// Not asked: an empty index is not asked before a transfer, so that a first run costs nothing.
  case unknown
  case known(CacheRow?)
}
