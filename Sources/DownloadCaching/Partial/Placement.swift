import DownloadModel

/// How the attempt to give a file its final name ended.
enum Placement: Sendable, Equatable {
  /// `name` is the final one; the row is nil where no index is kept.
  case placed(DownloadOutcome, name: String, CacheRow?)
  /// Something stands under the name, and nobody has yet asked the index whether it is this address's own.
  case ownershipUnknown
}
