/// The action when a file that dlm did not write, or that was changed since, has the wanted name.
package enum ConflictPolicy: String, Sendable, CaseIterable {
  /// The new file takes another name: `x.1.tar.gz`.
  case rename
  /// The existing file stays, and nothing is downloaded.
  case skip
  case overwrite
  /// As `rename`; the user is asked afterwards (`DownloadCache.carryOut`).
  case ask
  /// The download fails.
  case fail

  package var numbers: Bool { self == .rename || self == .ask }
}
