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

  private(set) var pool: DatabasePool?
  /// The file that `pool` was, or was to be, opened on.
  private var openedFile: FileIdentity?
  /// Opening failed for good; it is not tried again for each of ten thousand files.
  private var isUnusable = false
  private var warnings: [CacheWarning] = []
  private let now: @Sendable () -> Int64

  static let fileName = "index.sqlite"
  private static let lockName = "index.lock"
  static let damagedName = "index.sqlite.damaged-"
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
    // Readers first: only the last connection, if it can write, moves the log into the database and removes it.
    open?.releaseMemory()
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

  func warn(_ kind: CacheWarning.Kind, _ error: any Error) {
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

  // MARK: For the commands: every failure is one

  func answering<Answer>(
    _ activity: String, _ body: (DatabasePool) throws -> Answer
  ) throws(DownloadError) -> Answer {
    do { return try repairing(body) } catch { throw failure(error, activity) }
  }

  func failure(_ error: any Error, _ activity: String) -> DownloadError {
    let cause: DownloadError.Cause =
      if let errno = error as? Errno { .errno(errno.rawValue) } else { .detail(String(describing: error)) }
    return DownloadError(.cache, cause: cause, path: folder.path, activity: activity)
  }
}
