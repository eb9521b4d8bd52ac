package import DownloadModel

/// The requirements that every file of a run must meet, and the rules for its name. Each Bool is a user's option.
package struct ReceivingRules {
  /// `nil` for `fail` if the user or the list gives the name, otherwise for `rename`.
  package var conflictPolicy: ConflictPolicy?
  /// Whether a server may choose a file's name (RFC 6266).
  package var useContentDisposition = true
  /// The numbers for names that occur in the list more than once; `nil` for requests without a list.
  package var names: NameNumbers?
  /// The checksums that files must match, by name.
  package var checksums: ChecksumList?
  package var requiredProof = Proof.nothing
  package var expectedTypes: ExpectedTypes?
  /// The greatest file size in bytes (`--max-filesize`); `nil` for no limit.
  package var maxSize: Int64?
  /// Download files even if they are known to be unchanged.
  package var refresh = false
  /// Whether a large file may be downloaded in several segments in parallel.
  package var splits = true
  /// Whether files get the server's Last-Modified (`--remote-time`).
  package var usesRemoteTime = false
  /// Reads the file while it downloads; the file itself is not kept.
  package var reader: FileReader?
  /// Called when held bytes are dropped because the server no longer continues them.
  package var onRestart: (@Sendable (DownloadRequest, RestartReason) -> Void)?
  /// Seconds since 1970: the wall clock, except in tests.
  package var now: @Sendable () -> Int64 = WallClock.seconds

  package init() {}

  package func conflictPolicy(of request: DownloadRequest) -> ConflictPolicy {
    conflictPolicy ?? (request.outputName == nil ? .rename : .fail)
  }
}
