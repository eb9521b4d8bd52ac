import DownloadModel
import SystemPackage

/// Copies and reads finished files on a thread that may block, so that no transfer stands still behind gigabytes. A task
/// that is cancelled gets its answer (`.cancelled`) at the next block.
actor FileCopier {
  private let executor = BlockingExecutor(label: "dlm.file-copier")
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// Compares a whole file with its checksum.
  func prove(_ file: PartialFile) throws(DownloadError) -> DigestVerdict { try file.digestVerdictByReading() }

  /// The digest of a file that stands on the disk; nil if it is no longer the row's.
  func digest(of row: CacheRow, _ algorithm: ContentDigest.Algorithm) throws(DownloadError) -> ContentDigest?
  {
    do throws(Errno) { return try Descriptor.digest(of: row, algorithm) } catch .canceled {
      throw .cancelled
    } catch {
      let isShortage = DownloadError.isShortage(error.rawValue)
      throw DownloadError(
        isShortage ? .resources : .disk, cause: .errno(error.rawValue), path: row.path, activity: "reading",
        isPassing: isShortage)
    }
  }

  func adopt(_ file: PartialFile, _ owners: FileOwners) throws(DownloadError)
    -> Placement?
  {
    try file.adopt(owners)
  }

  /// - Returns: false if the source is not, or is no longer, the row's file.
  func fill(_ file: PartialFile, from source: CacheRow) throws(DownloadError) -> Bool {
    try file.fill(from: source)
  }
}
