import DownloadModel
import GRDB
import Glibc
import Synchronization
import SystemPackage

/// What dlm knows of the files it wrote: rows in `index.sqlite`, several processes at a time.
///
/// It runs on an executor of its own, because SQLite blocks; no transfer waits for it but those that ask it
/// something. A damaged database is set aside and a new one made: the index saves work, it must not prevent any.
actor CacheIndex {
  nonisolated let folder: Folder
  nonisolated let secret: UserSecret
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
  private var journals = LivingJournals()
  /// Set when the run is to end: then nothing is waited for any more.
  private let patience = Patience()

  static let fileName = "index.sqlite"
  private static let lockName = "index.lock"
  private static let damagedName = "index.sqlite.damaged-"

  /// - Throws: errno of opening or making the folder.
  /// - Parameter secret: the user's, which tells his journals from whatever else stands there.
  init(at path: FilePath, _ secret: UserSecret, now: @escaping @Sendable () -> Int64) throws(Errno) {
    folder = try Folder(path, mode: 0o700)
    folder.makePrivate()
    self.secret = secret
    self.now = now
    wasEmpty = try !folder.names().contains { $0 == Self.fileName || CommitJournal.isName($0, secret) }
  }

  /// The run is to end: whoever waits for another process here goes on without the index. From any thread.
  nonisolated func stopWaiting() { patience.end() }

  // MARK: For downloads: never a failure, at worst a warning

  /// - Parameter question: asked in the index's isolation.
  func answer<Answer: Sendable>(_ question: @Sendable (isolated CacheIndex) -> Answer) -> Answer {
    question(self)
  }

  /// This address's rows: that of the asked folder and name first, if there is one, then other folders'.
  func rows(_ key: RowKey) -> [CacheRow] {
    noting { pool in
      try pool.read { database in
        let statement = try database.cachedStatement(sql: CacheSchema.lookup)
        return try CacheRow.fetchAll(statement, arguments: key.arguments)
      }
    } ?? []
  }

  /// Whose the files of a folder are: what the database says, and the journals of processes that are at work now.
  func owners(in directory: String) -> FileOwners {
    let stored = noting { pool in
      try pool.read { database in
        var owners = FileOwners()
        let rows = try Row.fetchCursor(database, sql: CacheSchema.ownership, arguments: [directory])
        while let row = try rows.next() {
          owners.add(
            FileIdentity(device: row[0], inode: row[1], size: row[2], modified: row[3]),
            of: RowKey(address: row[4], scope: row[5], directory: directory, requested: row[6]))
        }
        return owners
      }
    }
    var owners = stored ?? FileOwners()
    journals.update(in: folder, secret)
    for row in journals.rows where row.key.directory == directory { owners.add(row.identity, of: row.key) }
    return owners
  }

  /// What the journals of processes that are at work say of a request.
  func journaledRow(_ key: RowKey) -> CacheRow? {
    journals.update(in: folder, secret)
    return journals[key]
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
      isUnusable = pool == nil || (error as? DatabaseError)?.resultCode == .SQLITE_BUSY
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
      // Rows hold addresses with their signatures. SQLite gives its log and its shared memory the rights of the database.
      try folder.makePrivate(Self.fileName, creating: true)
      for suffix in ["-wal", "-shm"] { try folder.makePrivate(Self.fileName + suffix, creating: false) }
      openedFile = try folder.identity(of: Self.fileName)
      let pool = try DatabasePool(path: path(Self.fileName), configuration: databaseConfiguration)
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

  private var databaseConfiguration: Configuration {
    var configuration = Configuration()
    configuration.busyMode = .callback { [patience] tries in patience.waits(try: tries) }
    configuration.label = "dlm.cache"
    configuration.maximumReaderCount = 1
    configuration.prepareDatabase { database in try database.execute(sql: "PRAGMA synchronous = NORMAL") }
    return configuration
  }

  /// Two processes must not migrate, or set aside, the same file at once.
  private func alone<Answer>(_ body: () throws -> Answer) throws -> Answer {
    try folder.makePrivate(Self.lockName, creating: true)
    let lock = try folder.open(Self.lockName, O_RDWR | O_CREAT, mode: 0o600)
    var tries = 0
    while !lock.lock() {
      guard patience.waits(try: tries) else { throw LockHeld() }
      tries += 1
    }
    let answer = Result { try body() }
    lock.unlock()
    return try answer.get()
  }

  /// Takes in the rows of processes that were killed before their batch was full.
  private func adoptJournals(_ pool: DatabasePool) throws {
    do {
      try CommitJournal.forEachAbandoned(in: folder, secret) { rows in
        // A line whose file never got its name, or was replaced since, must not hide an older, true row.
        let intact = rows.filter(\.isIntact)
        try pool.write { database in try Self.store(intact, in: database) }
      }
    } catch let error as DatabaseError where Self.isDamage(error) { throw error } catch {
      // A journal that cannot be read stays; the database is none the worse.
      warn(.unusable, error)
    }
  }

  /// With what only this user's dlm can say of the rest: `clear` removes what bears such a name, and nothing else.
  private func damagedName(_ stem: String) -> String { "\(stem)-\(secret.tag("damaged index", stem))" }

  /// Whether a name is that of an index of this user's that was set aside.
  func isDamagedName(_ name: String) -> Bool {
    let bytes = name.utf8
    guard bytes.starts(with: Self.damagedName.utf8), let dash = bytes.lastIndex(of: UInt8(ascii: "-")) else {
      return false
    }
    return name == damagedName(String(name[..<dash]))
  }

  private struct LaterVersion: Error {}

  private struct LockHeld: Error, CustomStringConvertible {
    var description: String {
      "another process holds \(CacheIndex.lockName) and does not go on: is a dlm stopped?"
    }
  }

  /// How long another process is waited for, that writes or opens the index: a clear-cache with a large one takes a second,
  /// and one that was stopped (SIGSTOP) may hold its locks for ever.
  private final class Patience: Sendable {
    private let isOver = Atomic<Bool>(false)
    private static let pause: UInt32 = 20_000  // microseconds
    private static let tries = 250

    func end() { isOver.store(true, ordering: .relaxed) }

    /// Waits for a moment.
    /// - Returns: false if it was long enough.
    func waits(try number: Int) -> Bool {
      guard number < Self.tries, !isOver.load(ordering: .relaxed) else { return false }
      usleep(Self.pause)
      return true
    }
  }

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
      let name = damagedName(Self.damagedName + String(now()))
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
