import DownloadModel
import SystemPackage

/// Copies, reads and syncs finished files on a thread that may block, so that no transfer stands still behind gigabytes.
actor FileCopier {
  private let executor = BlockingExecutor(label: "dlm.file-copier")
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// Compares a whole file with its checksum.
  func prove(_ file: PartialFile) throws(DownloadError) -> DigestVerdict { try file.digestVerdictByReading() }

  /// The digest of a file that stands on the disk; nil if it is no longer the row's.
  func digest(of row: CacheRow, _ algorithm: ContentDigest.Algorithm) throws(DownloadError) -> ContentDigest?
  {
    do throws(Errno) { return try Descriptor.digest(of: row, algorithm) } catch {
      throw DownloadError(.disk, cause: .errno(error.rawValue), path: row.path, activity: "reading")
    }
  }

  func adopt(_ file: PartialFile, answeredBy: String?) throws(DownloadError) -> Placement? {
    try file.adopt(answeredBy: answeredBy)
  }

  func sync(_ file: PartialFile) throws(DownloadError) { try file.sync() }

  func syncNames(_ directory: OutputDirectory) throws(DownloadError) {
    do throws(Errno) { try directory.folder.sync() } catch {
      throw directory.failure(error, "syncing", "")
    }
  }

  /// - Returns: false if the source is not, or is no longer, the row's file.
  func fill(_ file: PartialFile, from source: CacheRow) throws(DownloadError) -> Bool {
    try file.fill(from: source)
  }
}
