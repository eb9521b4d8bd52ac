import DownloadModel
import FileReceiving
import SystemPackage

/// The index of the files that dlm wrote: rows in `index.sqlite`, used by several processes at a time. It has an
/// executor of its own because SQLite blocks.
actor CacheIndex {
  nonisolated let folder: Folder
  nonisolated let secret: UserSecret
  /// Whether it was empty when this process started. It is then not read, and not even opened before the first batch is
  /// full.
  nonisolated let wasEmpty: Bool
  private nonisolated let patience = IndexDatabase.Patience()
  private let executor = BlockingExecutor(label: "dlm.cache-index")
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
  let database: IndexDatabase

  /// The database is opened for the first query.
  /// - Throws: errno of opening or creating the folder.
  init(at path: FilePath, _ secret: UserSecret, now: @escaping @Sendable () -> Int64) throws(Errno) {
    folder = try Folder(own: path)
    self.secret = secret
    wasEmpty = try folder.standing(IndexDatabase.fileName) == nil
    database = IndexDatabase(in: folder, secret, patience, now: now)
  }

  /// Makes calls stop waiting for another process. From any thread.
  nonisolated func stopWaiting() { patience.end() }

  func answer<Answer: Sendable>(
    _ question: @Sendable (isolated CacheIndex) throws -> Answer
  ) rethrows -> Answer { try question(self) }

  func takeWarnings() -> [CacheWarning] { database.takeWarnings() }
  func close() { database.close() }

  // MARK: For downloads: never a failure, at worst a warning

  private func found(_ sql: String, _ values: [Statement.Value]) -> [CacheRow]? {
    database.noting { connection in try connection.look { try connection.rows(sql, values) } }
  }

  /// This URL's rows: first the one for the folder and name in the key, if it exists, then those for other folders.
  func rows(_ key: RowKey) -> [CacheRow] {
    let rows = found(CacheSchema.lookup, key.values) ?? []
    guard rows.count > 2, rows.contains(where: { $0.key.isStored }) else { return rows }
    // The query puts the store's row before younger ones, so that it is among those that are read.
    return rows.filter { $0.key == key } + rows.filter { $0.key != key }.sorted { $0.fetchedAt > $1.fetchedAt }
  }

  func noted(of address: String) -> [CacheRow] { found(CacheSchema.ofAddress, [.text(address)]) ?? [] }

  /// Opens the database, and returns its path; `nil` if it cannot be opened.
  func openPath() -> String? { database.noting { _ in database.path } }

  /// The owner of each file in a folder.
  func owners(in directory: String) -> FileOwners {
    database.noting { connection in
      try connection.look {
        var owners = FileOwners()
        _ = try connection.rows(CacheSchema.inFolder, [.text(directory)]) { owners.add($0.identity, of: $0.key) }
        return owners
      }
    } ?? FileOwners()
  }

  /// Stores the rows of finished files: all of them, or none with a warning. The next run then recognises these files
  /// by their bytes.
  func write(_ rows: [CacheRow]) {
    database.noting { connection in
      try connection.write {
        let statement = try connection.statement(CacheSchema.insert)
        for row in rows { try statement.insert(row) }
      }
    }
  }

  // MARK: The store's rows

  private var store: FileStore { FileStore(in: folder, secret) }

  struct Evicted: Equatable {
    var entries = 0
    var bytes: Int64 = 0
    /// Counted bytes of the remaining entries.
    var rest: Int64 = 0
    var isDone = true
  }

  /// The number of entries removed at a time, so that other queries need not wait longer.
  private static let evictedAtOnce = 256

  /// Removes the store's least recently used entries if it exceeds its bound.
  func evict(from store: FileStore, to bound: Int64) -> Evicted? {
    database.noting { try evict($0, from: store, to: bound) }
  }

  private func evict(_ connection: Connection, from store: FileStore, to bound: Int64) throws -> Evicted {
    let (total, oldest) = try connection.look {
      let total = try connection.number(CacheSchema.storedTotal) ?? 0
      guard total > bound else { return (total, [CacheRow]()) }
      return (total, try connection.rows(CacheSchema.storedByUse, [.number(Int64(Self.evictedAtOnce))]))
    }
    var evicted = Evicted(rest: total)
    let victims = oldest.prefix(StoreKeeper.Bound.evicted(oldest.lazy.map(\.identity.size), total: total, bound: bound))
    guard !victims.isEmpty else { return evicted }
    evicted.bytes = try remove(victims, from: store, connection)
    evicted.entries = victims.count
    evicted.rest -= victims.reduce(0) { $0 + StoreKeeper.Bound.cost(of: $1.identity.size) }
    evicted.isDone = evicted.rest <= StoreKeeper.Bound.rest(of: bound) || oldest.count < Self.evictedAtOnce
    return evicted
  }

  /// Drops rows, and the store's files that belong to them. Files go first: a row without its file is not used, and
  /// goes next time. A row goes only with the file it was read for, because another process may have written the row
  /// anew.
  /// - Returns: the bytes of the removed files.
  private func remove(
    _ rows: some Collection<CacheRow>, from store: FileStore, _ connection: Connection
  ) throws -> Int64 {
    var bytes: Int64 = 0
    var changed: [CacheRow] = []
    for var row in rows where row.key.isStored {
      bytes += try store.remove(row) { time in
        row.changed = time
        changed.append(row)
      }
    }
    try connection.write {
      let statement = try connection.statement(CacheSchema.deleteIfSame)
      for row in rows {
        try statement.execute(row.key.values + [.number(row.identity.device), .number(row.identity.inode)])
      }
    }
    noteChange(changed)
    return bytes
  }

  /// Updates the change time in all rows of these files, after the store added a name to them or removed one.
  func noteChange(_ rows: [CacheRow]) {
    guard !rows.isEmpty else { return }
    database.noting { connection in
      try connection.write {
        let statement = try connection.statement(CacheSchema.noteChange)
        for row in rows {
          try statement.execute([
            .number(row.changed.number), .text(row.key.address), .number(row.identity.device),
            .number(row.identity.inode), .number(row.identity.size), .number(row.identity.modified),
          ])
        }
      }
    }
  }

  /// Renames an unchanged file in its rows.
  /// - Returns: whether there is a row.
  func rename(
    _ file: StandingFile, in directory: String, from old: String, to new: String, changed: ChangeTime
  ) -> Bool {
    database.noting { connection in
      try connection.write {
        let rows = try connection.rows(CacheSchema.inFolder, [.text(directory)])
        let own = rows.filter { FileNaming.areSame($0.name, old) && $0.isOwn(file) }
        let statement = try connection.statement(CacheSchema.insert)
        for var row in own {
          row.fields.name = new
          row.changed = changed
          try statement.insert(row)
        }
        return !own.isEmpty
      }
    } ?? false
  }

  /// The rows whose file has no entry in the store, or one of another version.
  func missing(_ rows: [CacheRow]) -> [CacheRow] {
    database.noting { connection in
      try connection.look {
        try rows.filter { row in
          try connection.rows(CacheSchema.storedRow, [.text(row.key.address)]).first?.isEntry(of: row) != true
        }
      }
    } ?? []
  }

  /// Removes entries without a row, which remain if an index was set aside.
  /// - Parameter always: also if the index existed when this run started.
  func sweep(_ store: FileStore, always: Bool = false) {
    guard always || wasEmpty || database.wasSetAside else { return }
    database.wasSetAside = false
    database.noting { connection in
      let names = try store.names()
      guard !names.isEmpty else { return }
      let known = try Set(connection.look { try connection.texts(CacheSchema.storedNames) })
      try store.clear(names.filter { !known.contains($0) })
    }
  }

  // MARK: The index's own bound

  /// Some three million files: more than anyone downloads again.
  static let bound: Int64 = 1 << 30

  /// The number of rows dropped at a time, and in one transaction, for which other processes wait.
  private static let droppedAtOnce = 50_000
  private static let droppedInStep = 500

  /// The number of rows to drop so that a tenth of the bound is free again.
  static func surplus(rows: Int, bytes: Int64, bound: Int64) -> Int {
    guard bytes > bound, rows > 0 else { return 0 }
    return rows - Int(Double(rows) * (Double(bound) * 0.9 / Double(bytes)))
  }

  /// Drops the least recently used rows, and the store's files that belong to them, if the index exceeds its bound in
  /// bytes. The freed pages stay in the file for new rows.
  func keepWithinBound(bound: Int64 = CacheIndex.bound, pause: () throws -> Void = IndexDatabase.leaveAlone) {
    guard database.connection != nil else { return }
    database.noting { connection in
      var left = try connection.look {
        let bytes = try connection.number(CacheSchema.usedBytes) ?? 0
        guard bytes > bound else { return 0 }
        let rows = Int(try connection.number(CacheSchema.count) ?? 0)
        return Self.surplus(rows: rows, bytes: bytes, bound: bound)
      }
      while left > 0 {
        let count = Int64(min(left, Self.droppedAtOnce))
        let dropped = try connection.look { try connection.rows(CacheSchema.byUse, [.number(count)]) }
        guard !dropped.isEmpty else { break }
        for start in stride(from: 0, to: dropped.count, by: Self.droppedInStep) {
          let step = dropped[start..<min(start + Self.droppedInStep, dropped.count)]
          _ = try remove(step, from: store, connection)
          try pause()
        }
        left -= dropped.count
      }
    }
  }

  // MARK: For `dlm cache …` and `dlm clear-cache`

  private func look<Answer>(_ body: (Connection) throws -> Answer) throws -> Answer {
    try database.use { connection in try connection.look { try body(connection) } }
  }

  func status() throws -> CacheStatus {
    let (entries, bytes) =
      try look { try $0.statement(CacheSchema.figures).rows { ($0.number(0) ?? 0, $0.number(1) ?? 0) }.first } ?? (0, 0)
    close()
    let store = try folder.allocatedBytes(of: FileStore.folderName)
    return CacheStatus(
      entries: Int(entries), indexBytes: try folder.allocatedBytes() - store, storeBytes: store, fileBytes: bytes,
      folder: FilePath(folder.path))
  }

  /// Rows in the order of their keys; for `ofUsers`, without those of the store and of rejected files.
  func rows(after key: RowKey?, limit: Int, ofUsers: Bool = false) throws -> [CacheRow] {
    let key = key ?? RowKey(address: "", directory: "", requested: "")
    return try look { try $0.rows(CacheSchema.page(ofUsers: ofUsers), key.values + [.number(Int64(limit))]) }
  }

  func rows(of addresses: [String]) throws -> [CacheRow] {
    try look { connection in try addresses.flatMap { try connection.rows(CacheSchema.ofAddress, [.text($0)]) } }
  }

  func directories() throws -> [String] { try look { try $0.texts(CacheSchema.directories) } }

  func prune(usedBefore limit: Int64?) throws -> Freed {
    try freeing {
      var entries = 0
      var last: RowKey?
      while true {
        let page = try rows(after: last, limit: 1000)
        guard let end = page.last else { return Freed(entries: entries) }
        last = end.key
        entries += try forget(page.filter { $0.usedAt < limit ?? .min || !$0.isIntact }.map(\.key))
      }
    }
  }

  /// - Returns: the number of forgotten users' files, without entries of the store and rejected files.
  func forget(_ keys: [RowKey]) throws -> Int {
    guard !keys.isEmpty else { return 0 }
    return try database.use { connection in
      try connection.write {
        let statement = try connection.statement(CacheSchema.delete)
        return try keys.reduce(0) { count, key in
          try statement.execute(key.values)
          return key.isUsers ? count + connection.changes : count
        }
      }
    }
  }

  /// Forgets files (all for `nil`) through SQLite, so that a running `get` keeps a sound database.
  func clear(_ addresses: [String]?) throws -> Freed {
    try freeing {
      if let addresses { return Freed(entries: try forget(try rows(of: addresses).map(\.key))) }
      var freed = Freed()
      try database.removeThoseAside()
      try database.use { connection in
        try connection.write {
          freed.entries = Int(try connection.number(CacheSchema.figures) ?? 0)
          // Without a condition, SQLite frees the pages and reads no row.
          try connection.execute("DELETE FROM file")
        }
      }
      return freed
    }
  }

  /// Removes the store's least recently used entries until the rest counts no more than so many bytes.
  func prune(storeTo bytes: Int64) throws -> Freed {
    let store = store
    var freed = Freed()
    while true {
      let evicted = try database.use { try evict($0, from: store, to: bytes) }
      freed.entries += evicted.entries
      freed.bytes += evicted.bytes
      if evicted.isDone { return freed }
    }
  }

  /// Returns the space of deleted rows to the disk, and counts by how much the folder has shrunk.
  private func freeing(_ body: () throws -> Freed) throws -> Freed {
    let before = try folder.allocatedBytes()
    var freed = try body()
    sweep(store, always: true)
    do {
      if let connection = database.connection {
        try IndexDatabase.giveBackPages(connection)
        try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
      }
    } catch {
      database.warn(error)
    }
    // While the database is open, a log and a table of its readers are beside it.
    close()
    freed.bytes = max(0, before - (try folder.allocatedBytes()))
    return freed
  }
}

extension CacheRow {
  /// Whether this row of the store has the version of another row, and its file is intact.
  func isEntry(of row: CacheRow) -> Bool {
    identity.size == row.identity.size && validator.etag == row.validator.etag
      && validator.lastModified == row.validator.lastModified && trust == row.trust && isIntact
  }
}
