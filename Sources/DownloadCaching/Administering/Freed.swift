public import DownloadModel

/// What clearing or pruning the cache has freed, and what it had to leave.
public struct Freed: Sendable, Equatable {
  /// Files that the index no longer knows.
  public var entries = 0
  /// By how many bytes the cache folder has shrunk, as du(1) counts.
  public var bytes: Int64 = 0
  /// Journals of ended processes that were removed.
  public var journals = 0
  /// Finished files that were removed, and what they took on the disk.
  public var files = 0
  public var fileBytes: Int64 = 0
  /// Finished files that stay, because they are no longer as dlm wrote them.
  public var filesKept = 0
  /// Unfinished files that were removed, and what they took on the disk.
  public var parts = 0
  public var partBytes: Int64 = 0
  /// Unfinished files that stay, because a running dlm has them in use.
  public var partsInUse = 0
  /// What could not be removed, or not be looked at.
  public var failures: [DownloadError] = []

  /// Takes in what a further step has freed.
  public mutating func add(_ more: Freed) {
    entries += more.entries
    bytes += more.bytes
    journals += more.journals
    files += more.files
    fileBytes += more.fileBytes
    filesKept += more.filesKept
    parts += more.parts
    partBytes += more.partBytes
    partsInUse += more.partsInUse
    failures += more.failures
  }
}
