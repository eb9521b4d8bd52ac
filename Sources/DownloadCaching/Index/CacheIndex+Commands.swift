import DownloadModel
import GRDB
import SystemPackage

/// `dlm cache …` and `dlm clear-cache`. All throw `.cache`.
extension CacheIndex {
  func status() throws(DownloadError) -> CacheStatus {
    let (entries, bytes) = try answering("reading the index") { pool in
      try pool.read { database in
        let row = try Row.fetchOne(database, sql: "SELECT COUNT(*), COALESCE(SUM(size), 0) FROM file")
        return (row?[0] as Int? ?? 0, row?[1] as Int64? ?? 0)
      }
    }
    return CacheStatus(
      entries: entries, indexBytes: try bytesWhenClosed(), fileBytes: bytes, folder: FilePath(folder.path))
  }

  /// Files in the order of their rows' keys, compared with the disk as of now.
  func page(after key: RowKey?, limit: Int) throws(DownloadError) -> [CacheEntry] {
    try rows(after: key, limit: limit).map { CacheEntry($0) }
  }

  /// Rows in the order of their keys.
  func rows(after key: RowKey?, limit: Int) throws(DownloadError) -> [CacheRow] {
    try answering("reading the index") { pool in
      try pool.read { database in
        let key = key ?? RowKey(address: "", scope: "", directory: "", requested: "")
        return try CacheRow.fetchAll(
          database, sql: CacheSchema.page, arguments: key.arguments + [limit])
      }
    }
  }

  /// Forgets the files that are gone or no longer as they were written.
  func prune() throws(DownloadError) -> Freed {
    let before = try bytesOnDisk()
    var entries = 0
    var last: RowKey?
    while true {
      let page = try page(after: last, limit: 1000)
      guard let end = page.last else { break }
      last = end.key
      let stale = page.filter { $0.condition != .intact }.map(\.key)
      entries += stale.count
      try answering("pruning the index") { pool in
        try pool.write { database in
          let statement = try database.cachedStatement(sql: CacheSchema.delete)
          for key in stale { try statement.execute(arguments: key.arguments) }
        }
      }
    }
    shrink()
    return Freed(entries: entries, bytes: max(0, before - (try bytesWhenClosed())))
  }

  /// Forgets every file. Deleting goes through SQLite, so that a running `get` of another process keeps a
  /// sound database and a journal of its own.
  func clear() throws(DownloadError) -> Freed {
    let before = try bytesOnDisk()
    var journals = 0
    do {
      for name in try folder.names() where isDamagedName(name) { _ = try folder.removeOwn(name) }
      try CommitJournal.forEachAbandoned(in: folder, secret) { _ in journals += 1 }
    } catch {
      throw failure(error, "clearing the cache")
    }
    let entries = try answering("clearing the index") { pool in
      try pool.write { database in
        try database.execute(sql: "DELETE FROM file")
        return database.changesCount
      }
    }
    shrink()
    return Freed(entries: entries, bytes: max(0, before - (try bytesWhenClosed())), journals: journals)
  }

  /// Gives the space of deleted rows back to the disk, if no other process is in the way; if one is, SQLite
  /// fills it with new rows instead. `clear` reports what was really given back.
  private func shrink() {
    do {
      try pool?.vacuum()
      try pool?.writeWithoutTransaction { database in _ = try database.checkpoint(.truncate) }
    } catch {
      warn(.unusable, error)
    }
  }

  /// What stays when nobody uses the folder: an open database has a log and a table of its readers beside it, which go when
  /// it is closed. Where another process has it open, they are there before and after.
  private func bytesWhenClosed() throws(DownloadError) -> Int64 {
    close()
    return try bytesOnDisk()
  }

  /// As `ls` and `du --apparent-size` count them.
  private func bytesOnDisk() throws(DownloadError) -> Int64 {
    do throws(Errno) {
      var bytes: Int64 = 0
      for name in try folder.names() { bytes += max(0, try folder.identity(of: name)?.size ?? 0) }
      return bytes
    } catch { throw failure(error, "measuring the cache") }
  }
}
