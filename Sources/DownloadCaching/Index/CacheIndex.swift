import DownloadModel
import GRDB
import Glibc
import SystemPackage

/// What dlm knows of the files it wrote: rows in `index.sqlite`, several processes at a time.
///
/// It runs on an executor of its own, because SQLite blocks; no transfer waits for it but those that ask it
/// something. A damaged database is set aside and a new one made: the index saves work, it must not prevent any.
actor CacheIndex {
  nonisolated let folder: Folder
  /// Whether there was nothing to know when this process began: then nobody needs to ask, and a first run
  /// does not even open the database before its first batch is full.
  nonisolated let wasEmpty: Bool
  private let executor = BlockingExecutor(label: "dlm.cache-index")
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private var pool: DatabasePool?
  /// The file that `pool` was, or was to be, opened on.
  private var openedFile: FileIdentity?
  /// Opening failed for good; it is not tried again for each of ten thousand files.
  private var isUnusable = false
  private var warnings: [CacheWarning] = []
  private let now: @Sendable () -> Int64

  static let fileName = "index.sqlite"
  private static let lockName = "index.lock"
  private static let damagedName = "index.sqlite.damaged-"
  /// How long another process's write is waited for: a clear-cache with a large index takes a second.
  private static let busyTimeout: Double = 10

  /// - Throws: errno of opening or making the folder.
  init(at path: FilePath, now: @escaping @Sendable () -> Int64) throws(Errno) {
    folder = try Folder(path, mode: 0o700)
    self.now = now
    wasEmpty = try !folder.names().contains { $0 == Self.fileName || $0.hasSuffix(CommitJournal.suffix) }
  }

  // MARK: For downloads: never a failure, at worst a warning

  /// This address's rows: that of the asked folder and name first, if there is one, then other folders'.
  func rows(_ key: RowKey) -> [CacheRow] {
    noting { pool in
      try pool.read { database in
        let statement = try database.cachedStatement(sql: CacheSchema.lookup)
        return try CacheRow.fetchAll(statement, arguments: key.arguments)
      }
    } ?? []
  }

  /// Stores a batch, and removes its journal, which has then served.
  ///
  /// If it fails, the journal stays: the next process takes it in.
  func write(_ rows: [CacheRow], retiring journal: CommitJournal?) {
    noting { pool in
      try pool.write { database in try Self.store(rows, in: database) }
      try journal?.retire()
    }
  }

  func takeWarnings() -> [CacheWarning] {
    defer { warnings = [] }
    return warnings
  }

  func close() {
    let open = pool
    pool = nil
    do { try open?.close() } catch { warn(.unusable, error) }
  }

  private static func store(_ rows: [CacheRow], in database: Database) throws {
    let statement = try database.cachedStatement(sql: CacheSchema.insert)
    for row in rows { try statement.execute(arguments: row.arguments) }
  }

  private func noting<Answer>(_ body: (DatabasePool) throws -> Answer) -> Answer? {
    guard !isUnusable else { return nil }
    do { return try repairing(body) } catch {
      warn(error is LaterVersion ? .laterVersion : .unusable, error)
      // Without an open database every further question would fail the same way, after the same wait.
      isUnusable = pool == nil
      return nil
    }
  }

  private func warn(_ kind: CacheWarning.Kind, _ error: any Error) {
    let warning = CacheWarning(
      kind, path: FilePath(folder.path).appending(Self.fileName), detail: String(describing: error))
    if !warnings.contains(warning) { warnings.append(warning) }
  }

  // MARK: Opening

  /// Runs `body`; a database that turns out to be damaged is replaced by a new one, and `body` run on that.
  private func repairing<Answer>(_ body: (DatabasePool) throws -> Answer) throws -> Answer {
    do { return try body(opened()) } catch let error as DatabaseError where Self.isDamage(error) {
      try setAside(error)
      return try body(opened())
    }
  }

  private func opened() throws -> DatabasePool {
    if let pool { return pool }
    let opened = try alone {
      openedFile = try folder.identity(of: Self.fileName)
      let pool = try DatabasePool(path: path(Self.fileName), configuration: Self.databaseConfiguration)
      if try pool.read({ database in try CacheSchema.migrator.hasBeenSuperseded(database) }) {
        throw LaterVersion()
      }
      try CacheSchema.migrator.migrate(pool)
      try pool.read { database in _ = try database.makeStatement(sql: CacheSchema.lookup) }
      openedFile = try folder.identity(of: Self.fileName)
      try adoptJournals(pool)
      return pool
    }
    pool = opened
    return opened
  }

  private static var databaseConfiguration: Configuration {
    var configuration = Configuration()
    configuration.busyMode = .timeout(busyTimeout)
    configuration.label = "dlm.cache"
    configuration.maximumReaderCount = 1
    configuration.prepareDatabase { database in try database.execute(sql: "PRAGMA synchronous = NORMAL") }
    return configuration
  }

  /// Two processes must not migrate, or set aside, the same file at once.
  private func alone<Answer>(_ body: () throws -> Answer) throws -> Answer {
    let lock = try folder.open(Self.lockName, O_RDWR | O_CREAT, mode: 0o600)
    lock.waitForLock()
    let answer = Result { try body() }
    lock.unlock()
    return try answer.get()
  }

  /// Takes in the rows of processes that were killed before their batch was full.
  private func adoptJournals(_ pool: DatabasePool) throws {
    do {
      try CommitJournal.forEachAbandoned(in: folder) { rows in
        // A line whose file never got its name, or was replaced since, must not hide an older, true row.
        let intact = rows.filter(\.isIntact)
        try pool.write { database in try Self.store(intact, in: database) }
      }
    } catch let error as DatabaseError where Self.isDamage(error) { throw error } catch {
      // A journal that cannot be read stays; the database is none the worse.
      warn(.unusable, error)
    }
  }

  private struct LaterVersion: Error {}

  /// Broken pages, another kind of file, or a table that is not as this version made it.
  private static func isDamage(_ error: DatabaseError) -> Bool {
    switch error.resultCode {
    case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_MISMATCH: true
    case .SQLITE_ERROR: error.message.map { $0.hasPrefix("no such") || $0.hasPrefix("malformed") } ?? false
    default: false
    }
  }

  private func setAside(_ error: DatabaseError) throws {
    close()
    try alone {
      // Another process that met the same damage may have been here, and this be its new database.
      guard let there = try folder.identity(of: Self.fileName), openedFile?.isSameFile(as: there) ?? true
      else {
        return
      }
      let name = Self.damagedName + String(now())
      try folder.rename(Self.fileName, replacing: name)
      // The log belongs to the database; beside another one it would be damage itself.
      for suffix in ["-wal", "-shm"] { try folder.remove(Self.fileName + suffix) }
      warnings.append(
        CacheWarning(
          .damagedIndexSetAside, path: FilePath(path(name)), detail: error.message ?? "\(error.resultCode)"))
    }
  }

  private func path(_ name: String) -> String { FilePath(folder.path).appending(name).string }

  // MARK: For the commands

  func status() throws(DownloadError) -> CacheStatus {
    let (entries, bytes) = try answering("reading the index") { pool in
      try pool.read { database in
        let row = try Row.fetchOne(database, sql: "SELECT COUNT(*), COALESCE(SUM(size), 0) FROM file")
        return (row?[0] as Int? ?? 0, row?[1] as Int64? ?? 0)
      }
    }
    return CacheStatus(
      entries: entries, indexBytes: try bytesOnDisk(), fileBytes: bytes, folder: FilePath(folder.path))
  }

  /// Files in the order of their rows' keys, compared with the disk as of now.
  func page(after key: RowKey?, limit: Int) throws(DownloadError) -> [CacheEntry] {
    let rows = try answering("reading the index") { pool in
      try pool.read { database in
        let key = key ?? RowKey(address: "", scope: "", directory: "", requested: "")
        return try CacheRow.fetchAll(
          database, sql: CacheSchema.page, arguments: key.arguments + [limit])
      }
    }
    return rows.map { CacheEntry($0) }
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
    return Freed(entries: entries, bytes: max(0, before - (try bytesOnDisk())))
  }

  /// Forgets every file. Deleting goes through SQLite, so that a running `get` of another process keeps a
  /// sound database and a journal of its own.
  func clear() throws(DownloadError) -> Freed {
    let before = try bytesOnDisk()
    var journals = 0
    do {
      for name in try folder.names() where name.hasPrefix(Self.damagedName) { try folder.remove(name) }
      try CommitJournal.forEachAbandoned(in: folder) { _ in journals += 1 }
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
    return Freed(entries: entries, bytes: max(0, before - (try bytesOnDisk())), journals: journals)
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

  private func bytesOnDisk() throws(DownloadError) -> Int64 {
    do throws(Errno) {
      var bytes: Int64 = 0
      for name in try folder.names() { bytes += max(0, try folder.identity(of: name)?.size ?? 0) }
      return bytes
    } catch { throw failure(error, "measuring the cache") }
  }

  private func answering<Answer>(
    _ activity: String, _ body: (DatabasePool) throws -> Answer
  ) throws(DownloadError) -> Answer {
    do { return try repairing(body) } catch { throw failure(error, activity) }
  }

  private func failure(_ error: any Error, _ activity: String) -> DownloadError {
    let cause: DownloadError.Cause =
      if let errno = error as? Errno { .errno(errno.rawValue) } else { .detail(String(describing: error)) }
    return DownloadError(.cache, cause: cause, path: folder.path, activity: activity)
  }
}
