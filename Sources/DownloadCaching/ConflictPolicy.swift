/// What to do with a file that stands under the wanted name and that dlm did not write, or that was touched
/// since. A file of dlm's own, for the same address and untouched, is replaced under every policy.
public enum ConflictPolicy: String, Sendable, CaseIterable {
  /// The new file takes another name: `x.1.tar.gz`.
  case rename
  /// The file that stands there stays, and nothing is fetched.
  case skip
  case overwrite
  /// As `rename`, and whoever sits at the terminal is asked afterwards (`DownloadCache.settle`).
  case ask
}
