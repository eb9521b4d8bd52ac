/// How the cache keeps bytes of its own, which outlive the user's files (`store`).
package enum StoreKind: String, Sendable, CaseIterable {
  /// `clone` if the file system supports it, otherwise `none`.
  case auto
  /// Shares the blocks of the user's file, which takes no space.
  case clone
  /// `clone` if the file system supports it, otherwise a copy of the blocks.
  case copy
  /// A second name for the user's file. An entry that was changed in place is no longer used.
  case link
  /// Only the index is kept.
  case none
}
