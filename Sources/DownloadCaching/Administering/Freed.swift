package import DownloadModel

/// The result of clearing or pruning the cache: what was freed, and what stays.
package struct Freed: Equatable {
  /// Files that the index no longer knows.
  package var entries = 0
  /// The bytes by which the cache folder has shrunk, as du(1) counts.
  package var bytes: Int64 = 0
  /// Finished files that were removed, and their size on the disk.
  package var files = 0
  package var fileBytes: Int64 = 0
  /// The folders of files that can be removed.
  package var folders: Set<String> = []
  /// Finished files that stay, because they have changed since dlm wrote them.
  package var filesKept = 0
  /// Unfinished files that were removed, and their size on the disk.
  package var parts = 0
  package var partBytes: Int64 = 0
  /// Unfinished files that stay, because a running dlm uses them.
  package var partsInUse = 0
  /// The files and folders that could not be removed or examined.
  package var failures: [DownloadError] = []

  package mutating func add(_ more: Freed) {
    entries += more.entries
    bytes += more.bytes
    files += more.files
    fileBytes += more.fileBytes
    filesKept += more.filesKept
    parts += more.parts
    partBytes += more.partBytes
    partsInUse += more.partsInUse
    failures += more.failures
  }
}
