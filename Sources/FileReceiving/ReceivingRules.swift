package import DownloadModel

/// What every file of a run must meet, and how it gets its name. Each of its Bools is an option of the user's.
package struct ReceivingRules: Sendable {
  /// Nil for `fail` where the user or the list gives the name, otherwise `rename`.
  package var conflictPolicy: ConflictPolicy?
  /// Whether a server may choose a file's name (RFC 6266).
  package var useContentDisposition = true
  /// The numbers for names that occur in the list more than once; nil for requests that are in no list.
  package var names: NameNumbers?
  /// Checksums that files must meet, by name.
  package var checksums: ChecksumList?
  package var requiredProof = Proof.nothing
  package var expectedTypes: ExpectedTypes?
  /// A longer file fails, in bytes (`--max-filesize`); nil for any length.
  package var maxSize: Int64?
  /// Fetch even what is known to be unchanged.
  package var refresh = false
  /// Whether a large file may be filled by several transfers at a time.
  package var splits = true
  /// Whether files get the server's Last-Modified (`--remote-time`).
  package var usesRemoteTime = false
  /// Who reads the file while it comes; then nothing of it is kept.
  package var reader: FileReader?
  /// Told when bytes that a file has are dropped, as the server no longer continues them.
  package var onRestart: (@Sendable (DownloadRequest, RestartReason) -> Void)?
  /// Seconds since 1970: the wall clock, except in tests.
  package var now: @Sendable () -> Int64 = WallClock.seconds

  package init() {}

  package func conflictPolicy(of request: DownloadRequest) -> ConflictPolicy {
    conflictPolicy ?? (request.outputName == nil ? .rename : .fail)
  }
}
