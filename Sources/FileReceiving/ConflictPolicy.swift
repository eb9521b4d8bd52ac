import DownloadModel

/// What to do with a file under the wanted name that dlm did not write, or no longer finds as it wrote it.
package enum ConflictPolicy: String, Sendable, CaseIterable {
  /// The new file takes another name: `x.1.tar.gz`.
  case rename
  /// The file that stands there stays, and nothing is fetched.
  case skip
  case overwrite
  /// As `rename`, and the person at the terminal is asked afterwards (`DownloadCache.carryOut`).
  case ask
  /// The download fails.
  case fail

  package var numbers: Bool { self == .rename || self == .ask }
}
