package import DownloadModel
import FileReceiving
package import SystemPackage

/// The operations of `dlm cache …` and `dlm clear-cache` on the index, also during downloads. All calls throw `.cache`,
/// with the system's or the database's message as the cause. URLs are given as `Address.resource`, `nil` for all.
package struct CacheAdministration {
  private let secret: UserSecret
  private let worker = DiskWorker("cache-reader")
  private let index: Result<CacheIndex, DownloadError>
  /// The canonical folder that the calls are limited to, with the folders below it; `nil` for all folders.
  private let here: String?

  /// - Parameters:
  ///   - folder: the folder of the index; `nil` for none.
  ///   - here: a folder of the user's, to clear only the files in it and below.
  package init(_ folder: FilePath?, here: FilePath? = nil, now: @escaping @Sendable () -> Int64 = WallClock.seconds) {
    let secret = UserSecret(in: folder)
    self.here = here.map { path in (try? Folder(standing: path).canonicalPath()) ?? path.string }
    self.secret = secret
    index = Result { () throws(DownloadError) in
      let activity = "opening the cache"
      guard let folder else { throw DownloadError(.cache, "no cache folder", activity) }
      do { return try CacheIndex(at: folder, secret, now: now) } catch {
        throw DownloadError(.cache, CacheWarning.words(error), activity, path: folder.string)
      }
    }
  }

  private func asking<Answer: Sendable>(
    _ activity: String = "reading the index", _ question: @Sendable (isolated CacheIndex) throws -> Answer
  ) async throws(DownloadError) -> Answer {
    let index = try index.get()
    do { return try await index.answer(question) } catch {
      throw DownloadError(.cache, CacheWarning.words(error), activity, path: index.folder.path)
    }
  }

  package func status() async throws(DownloadError) -> CacheStatus {
    try await asking { try $0.status() }
  }

  /// Up to `limit` files, in the order of their URLs.
  /// - Parameter entry: the last one of the previous page; `nil` for the first page.
  package func list(after entry: CacheEntry? = nil, limit: Int = 1000) async throws(DownloadError) -> [CacheEntry] {
    try await asking { try $0.rows(after: entry?.row.key, limit: limit, ofUsers: true).map(CacheEntry.init) }
  }

  /// The same, after reading every file with a known checksum that is unchanged except for its names and permissions.
  package func verify(after entry: CacheEntry? = nil, limit: Int = 100) async throws(DownloadError) -> [CacheEntry] {
    var entries: [CacheEntry] = []
    let rows = try await asking { try $0.rows(after: entry?.row.key, limit: limit) }
    for var row in rows where !row.key.isRejected {
      var entry = CacheEntry(row)
      if let digest = row.digest.flatMap({ ContentDigest($0) }), let file = StandingFile.of(path: row.path),
        row.isOwn(file)
      {
        let isNews = entry.condition == .touched
        if isNews { row.changed = ChangeTime(of: file) }
        do {
          // `nil` if the file was changed after its row was read.
          let found = try await worker.digest(of: row, digest.algorithm)
          if let found { entry.condition = found == digest ? .proven : .corrupt } else { entry = CacheEntry(row) }
          if isNews, found == digest { try await asking("writing the index") { [row] in $0.noteChange([row]) } }
        } catch {
          if error.code == .cancelled { throw error }
          entry.condition = .unreadable
          entry.failure = error
        }
      }
      entries.append(entry)
    }
    return entries
  }

  /// All entries of these URLs, in every folder, with and without logins, from one transaction.
  package func entries(of addresses: [String]) async throws(DownloadError) -> [CacheEntry] {
    try await asking { try $0.rows(of: addresses).filter { !$0.key.isRejected }.map(CacheEntry.init) }
  }

  /// Forgets files that are missing or changed.
  /// - Parameter limit: seconds since 1970; files last used before then are forgotten too. `nil` for no limit.
  package func prune(usedBefore limit: Int64? = nil) async throws(DownloadError) -> Freed {
    try await asking("pruning the index") { try $0.prune(usedBefore: limit) }
  }

  /// Removes the store's least recently used files until the rest takes no more than so many bytes.
  package func prune(storeTo bytes: Int64) async throws(DownloadError) -> Freed {
    try await asking("pruning the store") { try $0.prune(storeTo: bytes) }
  }

  /// Forgets files; removes no downloaded one. A `get` at the same time continues, and writes its next batch.
  package func clear(_ addresses: [String]? = nil) async throws(DownloadError) -> Freed {
    if here == nil { return try await asking("clearing the index") { try $0.clear(addresses) } }
    var freed = Freed()
    try await forEachPage(of: addresses) { (rows) throws(DownloadError) in
      freed.entries += try await asking("clearing the index") { try $0.forget(rows.map(\.key)) }
    }
    return freed
  }

  // MARK: Files in the user's folders

  /// Renames a file within its folder, and its entries.
  /// - Returns: whether the index had it, unchanged since it was downloaded.
  /// - Throws: `.conflict` if the new name is not a file name or is taken; `.disk`; `.cache`.
  package func rename(_ path: FilePath, to name: String) async throws(DownloadError) -> Bool {
    let activity = "naming"
    guard FileNaming.isUsable(name), !FileNaming.hasControls(name), let old = path.lastComponent?.string else {
      throw DownloadError(.conflict, "not a file name", activity, path: name)
    }
    let file: StandingFile
    let renamed: StandingFile
    let directory: String
    do throws(Errno) {
      let folder = try Folder(standing: path.removingLastComponent())
      guard let found = try folder.standing(old), found.identity.isRegularFile else { throw .noSuchFileOrDirectory }
      file = found
      directory = try folder.canonicalPath()
      try folder.rename(old, toFree: name)
      renamed = try folder.standing(name) ?? found
    } catch { throw DownloadError(.disk, error, error == .fileExists ? name : path.string, activity) }
    return try await asking("writing the index") {
      $0.rename(file, in: directory, from: old, to: name, changed: ChangeTime(of: renamed))
    }
  }

  /// The folders that the index knows, and the given folders that exist, canonical.
  private func folders(and more: [FilePath]) async throws(DownloadError) -> [FilePath] {
    if let here { return [FilePath(here)] }
    var known = Set(try await asking { try $0.directories() })
    for path in more {
      if let folder = try? Folder(standing: path), let path = try? folder.canonicalPath() { known.insert(path) }
    }
    return known.sorted().map { FilePath($0) }
  }

  /// The unfinished files in these folders and in those that the index knows, if they can be read.
  package func unfinished(
    in more: [FilePath], of addresses: [String]? = nil
  ) async throws(DownloadError) -> [UnfinishedFile] {
    let meant = addresses.map(Set.init)
    var found: [UnfinishedFile] = []
    for path in try await folders(and: more) {
      let files = (try? UnfinishedFiles(in: path, secret).found()) ?? []
      found += files.filter { meant?.contains($0.address) ?? true }.sorted { $0.path.string < $1.path.string }
    }
    return found
  }

  /// Removes dlm's own unfinished files that no living process uses, and rejected files.
  package func removeUnfinished(
    in more: [FilePath], of addresses: [String]? = nil
  ) async throws(DownloadError) -> Freed {
    let meant = addresses.map(Set.init)
    var freed = Freed()
    for path in try await folders(and: more) {
      do {
        freed.add(try UnfinishedFiles(in: path, secret).remove { meant?.contains($0) ?? true })
      } catch {
        if error != .noSuchFileOrDirectory, error != .notDirectory {
          freed.failures.append(DownloadError(.disk, error, path.string, "removing unfinished files"))
        }
      }
    }
    let rejected = try await remove(addresses) { $0.isRejected }
    freed.parts += rejected.files
    freed.partBytes += rejected.fileBytes
    freed.failures += rejected.failures
    return freed
  }

  /// The number of finished files that are unchanged since dlm wrote them, and their size on the disk.
  package func written(of addresses: [String]? = nil) async throws(DownloadError) -> Freed {
    var written = Freed()
    try await forEachPage(of: addresses) { (rows) throws(DownloadError) in
      for row in rows where !row.key.isStored && row.isIntact {
        written.files += 1
        written.folders.insert(row.key.directory)
        let folder = try? Folder(standing: FilePath(row.key.directory))
        written.fileBytes += (try? folder?.allocatedBytes(of: row.name, ifRemoved: true)) ?? 0
      }
    }
    return written
  }

  /// Removes finished files that are unchanged since dlm wrote them, and forgets all others.
  package func removeWritten(of addresses: [String]? = nil) async throws(DownloadError) -> Freed {
    try await remove(addresses) { _ in true }
  }

  private func remove(
    _ addresses: [String]?, _ isMeant: (RowKey) -> Bool
  ) async throws(DownloadError) -> Freed {
    var freed = Freed()
    try await forEachPage(of: addresses) { (rows) throws(DownloadError) in
      let rows = rows.filter { isMeant($0.key) }
      var gone = rows.filter(\.key.isStored).map(\.key)
      for row in rows where !row.key.isStored {
        do throws(Errno) {
          let isThere = StandingFile.of(path: row.path) != nil
          if let bytes = try WrittenFile(row: row, secret: secret).remove() {
            freed.files += 1
            freed.fileBytes += bytes
          } else if isThere {
            freed.filesKept += 1
          }
          gone.append(row.key)
        } catch {
          freed.failures.append(DownloadError(.disk, error, row.path, "removing the file"))
        }
      }
      freed.entries += try await asking("writing the index") { [gone] in try $0.forget(gone) }
    }
    return freed
  }

  private func forEachPage(
    of addresses: [String]?, _ body: ([CacheRow]) async throws(DownloadError) -> Void
  ) async throws(DownloadError) {
    func meant(_ rows: [CacheRow]) -> [CacheRow] {
      here.map { here in rows.filter { FilePath($0.key.directory).starts(with: FilePath(here)) } } ?? rows
    }
    if let addresses { return try await body(meant(try await asking { try $0.rows(of: addresses) })) }
    var last: RowKey?
    while true {
      let rows = try await asking { [last] in try $0.rows(after: last, limit: 1000) }
      guard let end = rows.last else { return }
      last = end.key
      try await body(meant(rows))
    }
  }

  /// Must be called once, at the end.
  /// - Returns: warnings about the cache that failed no call.
  package func close() async -> [CacheWarning] {
    guard case .success(let index) = index else { return [] }
    await index.close()
    return [secret.takeFailure().map { CacheWarning(secret, $0) }].compactMap(\.self) + (await index.takeWarnings())
  }
}
