import DownloadModel
import FileReceiving
import Glibc
import Synchronization

/// How the cache keeps bytes of its own, so that what was fetched outlives the user's files (`store`).
package enum StoreKind: String, Sendable, CaseIterable {
  /// As `clone` where the file system can; elsewhere `none`.
  case auto
  /// Shares the blocks of the user's file, which takes no space.
  case clone
  /// The same where the file system can, else a copy of them.
  case copy
  /// A second name for the user's file; an entry that was changed in place is no longer served.
  case link
  /// Only the index is kept.
  case none
}
