import DownloadModel
import SystemPackage

/// Makes files and names durable (`--fsync`) on a thread that may block. Not the copier's: what is to be made durable would
/// stand in line behind gigabytes that are read or copied for another file.
actor FileSyncer {
  private let executor = BlockingExecutor(label: "dlm.file-syncer")
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  func sync(_ file: PartialFile) throws(DownloadError) { try file.sync() }

  func syncNames(_ directory: OutputDirectory) throws(DownloadError) {
    do throws(Errno) { try directory.folder.sync() } catch {
      throw directory.failure(error, "syncing", "")
    }
  }
}
