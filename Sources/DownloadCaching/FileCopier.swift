import DownloadModel

/// Copies finished files on a thread that may block, so that no transfer stands still behind gigabytes.
actor FileCopier {
  private let executor = BlockingExecutor(label: "dlm.file-copier")
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  func fill(_ file: PartialFile, from source: CacheRow) throws(DownloadError) { try file.fill(from: source) }
}
