public import DownloadModel
public import SystemPackage

/// `dlm cache …` and `dlm clear-cache`. All throw `.cache`, with errno or the database's words.
extension DownloadCache {
  /// The database file; nil without a cache.
  public nonisolated var indexPath: FilePath? {
    configuration.cacheFolder?.appending(CacheIndex.fileName)
  }

  public func status() async throws(DownloadError) -> CacheStatus {
    try await index(flushed: true).status()
  }

  /// Up to `limit` files, in the order of their addresses.
  /// - Parameter entry: the last one of the page before; nil for the first page.
  public func list(after entry: CacheEntry? = nil, limit: Int = 1000) async throws(DownloadError)
    -> [CacheEntry]
  {
    try await index(flushed: true).page(after: entry?.key, limit: limit)
  }

  /// The same, after reading every file whose checksum is known and that looks untouched.
  public func verify(after entry: CacheEntry? = nil, limit: Int = 100) async throws(DownloadError)
    -> [CacheEntry]
  {
    var entries: [CacheEntry] = []
    for row in try await index(flushed: true).rows(after: entry?.key, limit: limit) {
      var entry = CacheEntry(row)
      if entry.condition == .intact, let digest = row.digest.flatMap({ ContentDigest($0) }) {
        try await prove(&entry, row, digest)
      }
      entries.append(entry)
    }
    return entries
  }

  private func prove(_ entry: inout CacheEntry, _ row: CacheRow, _ digest: ContentDigest)
    async throws(DownloadError)
  {
    do throws(DownloadError) {
      if let found = try await commons.copier.digest(of: row, digest.algorithm) {
        entry.condition = found == digest ? .proven : .corrupt
      } else {
        entry = CacheEntry(row)  // somebody touched it meanwhile
      }
    } catch {
      if error.code == .cancelled { throw error }
      entry.condition = .unreadable
      entry.failure = error
    }
  }

  /// Forgets files that are gone or touched.
  public func prune() async throws(DownloadError) -> Freed {
    try await index(flushed: true).prune()
  }

  /// Forgets every file; no downloaded file is removed. A `get` that runs beside it goes on, and its files are
  /// known again when its next batch is written.
  public func clear() async throws(DownloadError) -> Freed {
    let index = try await index(flushed: false)
    commons.downloads.forgetAll()
    let forgotten = batch
    batch = RowBatch()
    try forgotten.journal?.retire()
    return try await index.clear()
  }

  private func index(flushed: Bool) async throws(DownloadError) -> CacheIndex {
    guard let index = openIndex() else {
      let detail = warnings.last?.detail ?? "no cache folder"
      throw DownloadError(
        .cache, cause: .detail(detail), path: configuration.cacheFolder?.string, activity: "opening the cache"
      )
    }
    if flushed { await flush() }
    return index
  }
}
