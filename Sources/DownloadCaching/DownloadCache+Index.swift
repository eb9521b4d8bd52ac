import DownloadModel
import SystemPackage

extension DownloadCache {
  // MARK: Opened when first needed

  func outputDirectory() throws(DownloadError) -> OutputDirectory {
    openIndex()
    if let openedDirectory { return openedDirectory }
    let directory = try commons.directory(configuration.directory)
    openedDirectory = directory
    return directory
  }

  @discardableResult
  func openIndex() -> CacheIndex? {
    guard !indexWasOpened else { return openedIndex }
    indexWasOpened = true
    guard let folder = configuration.cacheFolder else { return nil }
    openedIndex = commons.index(at: folder, now: configuration.now) {
      warn(CacheWarning(.unusable, path: folder, detail: "\($0)"))
    }
    return openedIndex
  }

  func scope(of address: Address) -> String {
    guard address.hasCredentials || configuration.credentials != nil else { return "" }
    if let scopes { return scopes.name(of: address, more: configuration.credentials) }
    let made = commons.scopes {
      warn(CacheWarning(.unusable, path: configuration.cacheFolder ?? "", detail: "\($0)"))
    }
    scopes = made
    return made.name(of: address, more: configuration.credentials)
  }

  // MARK: Rows

  /// The line that stands for a file until its row is in SQLite. A failure costs the next run a download after
  /// a SIGKILL, and nothing otherwise: it is no reason to fail the file.
  func journal(_ row: CacheRow) {
    guard let index = openedIndex else { return }
    let journal = batch.journal ?? CommitJournal(in: index.folder)
    batch.journal = journal
    do throws(DownloadError) { try journal.append(row) } catch {
      warn(CacheWarning(.unusable, path: FilePath(error.path ?? ""), detail: "\(error)"))
    }
  }

  func remember(_ name: String, _ size: Int64, _ row: CacheRow?, _ order: FileOrder) {
    commons.downloads.remember(
      RecentFiles.Entry(name: name, size: size, identity: row?.identity),
      for: DownloadKey(address: order.address, requested: order.requested))
    if let row { batch.add(row) }
  }

  /// The download that fills a batch carries it to the index and waits there: so batches cannot pile up.
  func flush() async {
    guard let index = openedIndex, !batch.isEmpty else { return }
    let full = batch
    batch = RowBatch()
    await index.write(Array(full.rows.values), retiring: full.journal)
  }

  // MARK: Warnings

  func warn(_ warning: CacheWarning) {
    if !warnings.contains(warning) { warnings.append(warning) }
  }

  /// What went wrong with the cache since the last call; each thing once.
  public func takeWarnings() async -> [CacheWarning] {
    let ofIndex = await openedIndex?.takeWarnings() ?? []
    defer { warnings = [] }
    return warnings + ofIndex
  }
}
