package import DownloadModel
import FileReceiving
import Glibc

/// What clearing or pruning the cache has freed, and what it had to leave.
package struct Freed: Sendable, Equatable {
  /// Files that the index no longer knows.
  package var entries = 0
  /// By how many bytes the cache folder has shrunk, as du(1) counts.
  package var bytes: Int64 = 0
  /// Finished files that were removed, and what they took on the disk.
  package var files = 0
  package var fileBytes: Int64 = 0
  /// Where files that could be removed stand.
  package var folders: Set<String> = []
  /// Finished files that stay, because they are no longer as dlm wrote them.
  package var filesKept = 0
  /// Unfinished files that were removed, and what they took on the disk.
  package var parts = 0
  package var partBytes: Int64 = 0
  /// Unfinished files that stay, because a running dlm has them in use.
  package var partsInUse = 0
  /// What could not be removed, or not be looked at.
  package var failures: [DownloadError] = []

  package mutating func add(_ more: Freed) {
    for count in [\Freed.entries, \.files, \.filesKept, \.parts, \.partsInUse] {
      self[keyPath: count] += more[keyPath: count]
    }
    for bytes in [\Freed.bytes, \.fileBytes, \.partBytes] { self[keyPath: bytes] += more[keyPath: bytes] }
    failures += more.failures
  }
}
