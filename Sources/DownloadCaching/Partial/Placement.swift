import DownloadModel

/// How the attempt to give a file its final name ended.
enum Placement: Sendable, Equatable {
  /// `name` is the final one; the row is nil where no index is kept.
  case placed(DownloadOutcome, name: String, CacheRow?)
  /// Something stands under the name, and nobody has yet asked the index whether it is this address's own.
  case ownershipUnknown
  /// A foreign file as long as this one stands under the name: they are to be compared first.
  case mayBeThere
}
