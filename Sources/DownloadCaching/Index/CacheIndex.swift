// Long because: it holds the one database, its opening, its repair and its queries; split up, the pool would
// have to be visible outside.

import DownloadModel
import GRDB
import Glibc
import Synchronization
import SystemPackage

/// What dlm knows of the files it wrote: rows in `index.sqlite`, several processes at a time.
///
/// It has an executor of its own because SQLite blocks; a transfer waits for it only where it asks it
/// something. A damaged database is set aside and a new one made: the index saves work and must never prevent
/// any.
actor CacheIndex {
  nonisolated let folder: Folder
  nonisolated let secret: UserSecret
  /// Whether the index was empty when this process began. Then it need not be asked, and a first run does not
  /// even open the database before its first batch is full.
  nonisolated let wasEmpty: Bool
  private let executor = BlockingExecutor(label: "dlm.cache-index")
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private var pool: DatabasePool?
  /// The identity of the file on which `pool` was, or was being, opened.
  private var openedFile: FileIdentity?
  /// The database cannot be used; it is not tried again for each of ten thousand files.
  private var isUnusable = false
  private var warnings: [CacheWarning] = []
  private let now: @Sendable () -> Int64
  private var journals = LivingJournals()
  /// Told when the run is to end: then nothing is waited for any more.
  private let patience = Patience()

  static let fileName = "index.sqlite"
  private static let lockName = "index.lock"
  private static let damagedName = "index.sqlite.damaged-"

  /// - Throws: errno of opening or making the folder.
  /// - Parameter secret: the user's, by which journals of this user are recognised.
  init(at path: FilePath, _ secret: UserSecret, now: @escaping @Sendable () -> Int64) throws(Errno) {
    folder = try Folder(path, mode: 0o700)
    folder.makePrivate()
    self.secret = secret
    self.now = now
    wasEmpty = try !folder.names().contains { $0 == Self.fileName || CommitJournal.isName($0, secret) }
  }

  /// The run is to end: calls that wait for another process give up and go on without the index. From any
  /// thread.
  nonisolated func stopWaiting() { patience.end() }

  // MARK: For downloads: never a failure, at worst a warning

  /// - Parameter question: runs in the index's isolation.
  func answer<Answer: Sendable>(_ question: @Sendable (isolated CacheIndex) -> Answer) -> Answer {
    question(self)
  }

  /// This address's rows: first that of the folder and name in the key, if there is one, then other folders'.
  func rows(_ key: RowKey) -> [CacheRow] {
    noting { pool in
      try pool.read { database in
        let statement = try database.cachedStatement(sql: CacheSchema.lookup)
        return try CacheRow.fetchAll(statement, arguments: key.arguments)
      }
    } ?? []
  }

  /// Which request owns which file of a folder: by the database, and by the journals of living processes.
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

  /// The row of a request in the journals of living processes.
  func journaledRow(_ key: RowKey) -> CacheRow? {
    journals.update(in: folder, secret)
    return journals[key]
  }

  /// Stores a batch, then removes its journal.
  ///
  /// If it fails, the journal stays, and the next process adopts it.
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
    // Readers first: only the last connection, if it can write, moves the log into the database and removes
    // the log.
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
      // Without an open database every further query would fail in the same way, after the same wait.
      isUnusable = pool == nil || (error as? DatabaseError)?.resultCode == .SQLITE_BUSY
      return nil
    }
  }

  private func warn(_ kind: CacheWarning.Kind, _ error: any Error) {
    let warning = CacheWarning(
      kind, path: FilePath(folder.path).appending(Self.fileName), detail: String(describing: error))
    if !warnings.contains(warning) { warnings.append(warning) }
  }

  // MARK: Opening

  /// Runs `body`. If the database proves damaged, it is replaced by a new one, and `body` runs again on that.
  private func repairing<Answer>(_ body: (DatabasePool) throws -> Answer) throws -> Answer {
    do { return try body(opened()) } catch let error as DatabaseError where Self.isDamage(error) {
      try setAside(error)
      return try body(opened())
    }
  }

  private func opened() throws -> DatabasePool {
    if let pool { return pool }
    let opened = try alone {
      // Rows hold addresses with their signatures. SQLite gives its log and its shared memory the rights of
      // the database.
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

  /// Stores the rows of processes that were killed before their batch was written.
  private func adoptJournals(_ pool: DatabasePool) throws {
    do {
      try CommitJournal.forEachAbandoned(in: folder, secret) { rows in
        // A line whose file never got its name, or was replaced since, must not replace an older row that is
        // true.
        let intact = rows.filter(\.isIntact)
        try pool.write { database in try Self.store(intact, in: database) }
      }
    } catch let error as DatabaseError where Self.isDamage(error) { throw error } catch {
      // A journal that cannot be read stays; the database does not need it.
      warn(.unusable, error)
    }
  }

  /// Ends in a tag of the stem that needs the user's secret: `clear` removes only files with such a name.
  private func damagedName(_ stem: String) -> String { "\(stem)-\(secret.tag("damaged index", stem))" }

  /// Whether a name is that of an index that this user's dlm set aside.
  private func isDamagedName(_ name: String) -> Bool {
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

  /// How long to wait for another process that writes or opens the index. Clearing a large one takes a
  /// second; a process that was stopped (SIGSTOP) may hold its locks for ever.
  private final class Patience: Sendable {
    private let isOver = Atomic<Bool>(false)
    private static let pause: UInt32 = 20_000  // microseconds
    private static let tries = 250

    func end() { isOver.store(true, ordering: .relaxed) }

    /// Pauses for a moment.
    /// - Returns: false if the caller should give up.
    func waits(try number: Int) -> Bool {
      guard number < Self.tries, !isOver.load(ordering: .relaxed) else { return false }
      usleep(Self.pause)
      return true
    }
  }

  /// Broken pages, another kind of file, or a table that this version did not make.
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
      // Another process that met the same damage may have replaced the database already.
      guard let there = try folder.identity(of: Self.fileName), openedFile?.isSameFile(as: there) ?? true
      else {
        return
      }
      let name = damagedName(Self.damagedName + String(now()))
      try folder.rename(Self.fileName, replacing: name)
      // The log belongs to the damaged database; beside a new one it would be damage itself.
      for suffix in ["-wal", "-shm"] { try folder.remove(Self.fileName + suffix) }
      warnings.append(
        CacheWarning(
          .damagedIndexSetAside, path: FilePath(path(name)), detail: error.message ?? "\(error.resultCode)"))
    }
  }

  private func path(_ name: String) -> String { FilePath(folder.path).appending(name).string }

  // MARK: For `dlm cache …` and `dlm clear-cache`: every failure is one, `.cache`

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

  /// Entries in the order of their rows' keys, compared with the files on disk now.
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

  /// Returns the space of deleted rows to the disk. If another process prevents that, SQLite reuses the space
  /// for new rows, and `clear` reports only what was really freed.
  private func shrink() {
    do {
      try pool?.vacuum()
      try pool?.writeWithoutTransaction { database in _ = try database.checkpoint(.truncate) }
    } catch {
      warn(.unusable, error)
    }
  }

  /// What the folder takes once the database is closed: while open, it has a log and a table of its readers
  /// beside it. Where another process has it open, those are there before and after.
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
