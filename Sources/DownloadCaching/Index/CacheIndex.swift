// Long because: it holds the one database, its opening, its repair and its queries; split up, the database would have
// to be visible outside.

import DownloadModel
import Glibc
import Synchronization
import SystemPackage

/// What dlm knows of the files it wrote: rows in `index.sqlite`, several processes at a time.
///
/// It has an executor of its own because SQLite blocks; a transfer waits for it only where it asks it something. A
/// database that is damaged, or of another version, is set aside, and a new one begins empty: the index saves work and
/// must never prevent any, and files that it no longer knows are recognised by their bytes when they are fetched again
/// (`Commit.adopt`).
actor CacheIndex {
  nonisolated let folder: Folder
  nonisolated let secret: UserSecret
  /// Whether the index was empty when this process began. Then it need not be asked, and a first run does not even open
  /// the database before its first batch is full.
  nonisolated let wasEmpty: Bool
  private let executor = BlockingExecutor(label: "dlm.cache-index")
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private var connection: Connection?
  /// The identity of the file on which it was, or was being, opened.
  private var openedFile: FileIdentity?
  var isOpen: Bool { connection != nil }
  /// Whether this process has set a damaged index aside: the store's files are then in no row.
  var wasSetAside = false
  /// The database cannot be used; it is not tried again for each of ten thousand files.
  private var isUnusable = false
  private var warnings: [CacheWarning] = []
  private let now: @Sendable () -> Int64
  nonisolated let journals: LivingJournals
  /// Told when the run is to end: then nothing is waited for any more.
  private let patience = Patience()

  static let fileName = "index.sqlite"
  private static let lockName = "index.lock"
  private static let damagedName = "index.sqlite.damaged-"
  private static let otherName = "index.sqlite.other-"
  private static let (log, memory) = ("-wal", "-shm")

  /// - Throws: errno of opening or making the folder.
  /// - Parameter secret: the user's, by which journals of this user are recognised.
  init(at path: FilePath, _ secret: UserSecret, now: @escaping @Sendable () -> Int64) throws(Errno) {
    folder = try Folder(own: path)
    self.secret = secret
    self.now = now
    journals = LivingJournals(in: folder, secret)
    let names = try folder.names()
    wasEmpty = !names.contains { $0 == Self.fileName || CommitJournal.isName($0, secret) }
  }

  /// The run is to end: calls that wait for another process give up and go on without the index. From any thread.
  nonisolated func stopWaiting() { patience.end() }

  // MARK: For downloads: never a failure, at worst a warning

  /// - Parameter question: runs in the index's isolation.
  func answer<Answer: Sendable>(_ question: @Sendable (isolated CacheIndex) -> Answer) -> Answer {
    question(self)
  }

  /// This address's rows: first that of the folder and name in the key, if there is one, then other folders'.
  func rows(_ key: RowKey) -> [CacheRow] {
    noting { connection in
      try connection.look { Self.sorted(try connection.rows(CacheSchema.lookup, key.values), for: key) }
    } ?? []
  }

  /// Rows as the lookup gives them, with that of the store among the others by its age.
  private static func sorted(_ rows: [CacheRow], for key: RowKey) -> [CacheRow] {
    guard rows.count > 2, rows.contains(where: { $0.key.isStored }) else { return rows }
    return rows.filter { $0.key == key }
      + rows.filter { $0.key != key }.sorted { $0.fetchedAt > $1.fetchedAt }
  }

  /// All rows of an address.
  func noted(of address: String) -> [CacheRow] {
    noting { connection in
      try connection.look { try connection.rows(CacheSchema.ofAddress, [.text(address)]) }
    } ?? []
  }

  /// The path of the database, which is opened for that; nil where it cannot be.
  func openPath() -> String? { noting { _ in path(Self.fileName) } }

  /// Which request owns which file of a folder: by the database, and by the journals of living processes.
  func owners(in directory: String) -> FileOwners {
    let stored = noting { connection in
      try connection.look {
        var owners = FileOwners()
        _ = try connection.statement(CacheSchema.ownership).rows([.text(directory)]) { row in
          guard let device = row.number(0), let inode = row.number(1), let size = row.number(2),
            let modified = row.number(3), let address = row.text(4), let requested = row.text(5)
          else { throw NoRow() }
          owners.add(
            FileIdentity(device: device, inode: inode, size: size, modified: modified),
            of: RowKey(address: address, directory: directory, requested: requested))
        }
        return owners
      }
    }
    var owners = stored ?? FileOwners()
    for row in journals.rows() where row.key.directory == directory { owners.add(row.identity, of: row.key) }
    return owners
  }

  /// The names of the store's files in the journals of living processes.
  func journaledEntries() -> Set<String> {
    Set(journals.rows().filter(\.key.isStored).map(\.name))
  }

  /// Stores a batch, then removes its journal.
  ///
  /// If it fails, the journal stays, and the next process adopts it.
  func write(_ rows: [CacheRow], retiring journal: CommitJournal?) {
    noting { connection in
      try connection.write { try Self.store(rows, in: connection) }
      try journal?.retire()
    }
  }

  /// The same for those rows of a journal whose lines begin at these places.
  func write(_ journal: CommitJournal, _ places: [Int]) {
    let lines = journal.takeLines()
    noting { connection in
      try connection.write {
        let inserter = try RowInserter(connection)
        for place in places { try lines.withLine(at: place) { try inserter.insert(line: $0) } }
      }
      try journal.retire()
    }
  }

  func takeWarnings() -> [CacheWarning] {
    defer { warnings = [] }
    return warnings
  }

  /// The last connection moves the log into the database and removes the log, if it can write.
  func close() {
    connection?.close()
    connection = nil
  }

  private static func store(_ rows: [CacheRow], in connection: Connection) throws {
    let inserter = try RowInserter(connection)
    for row in rows { try inserter.insert(row) }
  }

  /// - Returns: nil where the index cannot be used; the user is warned.
  func noting<Answer>(_ body: (Connection) throws -> Answer) -> Answer? {
    guard !isUnusable else { return nil }
    do { return try repairing(body) } catch {
      warn(.unusable, error)
      // Without an open database every further query would fail in the same way, after the same wait.
      isUnusable = connection == nil || (error as? DatabaseError)?.isBusy == true
      return nil
    }
  }

  private func warn(_ kind: CacheWarning.Kind, _ error: any Error) {
    let warning = CacheWarning(
      kind, path: FilePath(folder.path).appending(Self.fileName), detail: CacheWarning.words(error))
    if !warnings.contains(warning) { warnings.append(warning) }
  }

  // MARK: Opening

  /// Runs `body`. If the database proves damaged or of another version, it is replaced by a new one, and `body` runs
  /// again on that.
  private func repairing<Answer>(_ body: (Connection) throws -> Answer) throws -> Answer {
    do { return try body(opened()) } catch {
      switch error {
      case let error as DatabaseError where error.isDamage:
        try setAside(.damagedIndexSetAside, detail: error.message)
      case is NoRow:
        try setAside(.damagedIndexSetAside, detail: "a row holds what no row holds")
      case is OtherVersion: try setAside(.otherVersion, detail: "")
      default: throw error
      }
      return try body(opened())
    }
  }

  private func opened() throws -> Connection {
    if let connection { return connection }
    let opened = try alone {
      // Rows hold addresses with their signatures. SQLite gives its log and its shared memory the rights of the
      // database.
      let standing = try folder.identity(of: Self.fileName)
      if standing == nil {
        // A log without its database: SQLite would have to tell that by itself.
        for ending in [Self.log, Self.memory] { try folder.remove(Self.fileName + ending) }
      } else if standing?.size == 0, try folder.identity(of: Self.fileName + Self.log) != nil {
        openedFile = standing
        throw DatabaseError(code: DatabaseError.damaged, message: "it is empty, and its log is not")
      }
      try folder.makePrivate(Self.fileName, creating: true)
      for ending in [Self.log, Self.memory] {
        try folder.makePrivate(Self.fileName + ending, creating: false)
      }
      openedFile = try folder.identity(of: Self.fileName)
      let connection = try Connection(path(Self.fileName), .readWrite) { [patience] in patience.waits(try: $0)
      }
      try Self.prepare(connection, isNew: (standing?.size ?? 0) == 0)
      openedFile = try folder.identity(of: Self.fileName)
      try adoptJournals(connection)
      return connection
    }
    connection = opened
    return opened
  }

  private static func prepare(_ connection: Connection, isNew: Bool) throws {
    if isNew { try IndexPages.prepare(connection) }
    guard try connection.text("PRAGMA journal_mode = WAL") == "wal" else {
      throw DatabaseError(
        code: DatabaseError.unusable, message: "its file system has no memory that processes share (SQLite's WAL)")
    }
    // With SQLite's own 1,000 pages, each page of a run of ten thousand files would be moved from the log four times,
    // with two syncs each time. The log takes 16 MiB at most, until the last process closes.
    try connection.execute("PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 4000")
    try prepareTables(connection)
    // Found to be of another kind now, and not by the first question.
    _ = try connection.statement(CacheSchema.lookup)
  }

  /// Makes the tables in a database that is new; writes nothing into any other.
  private static func prepareTables(_ connection: Connection) throws {
    let format = try connection.look {
      let format = try connection.number("PRAGMA user_version") ?? 0
      if format == 0, try connection.number("SELECT COUNT(*) FROM sqlite_master") != 0 {
        throw OtherVersion()
      }
      return format
    }
    if format == CacheSchema.format { return }
    guard format == 0 else { throw OtherVersion() }
    try connection.write { try connection.execute(CacheSchema.tables) }
  }

  /// Two processes must not begin, or set aside, the same file at once.
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
  private func adoptJournals(_ connection: Connection) throws {
    do {
      try CommitJournal.forEachAbandoned(in: folder, secret) { rows in
        // A line whose file never got its name, or was replaced since, must not replace an older row that is true.
        let own = rows.filter { row in StandingFile.of(path: row.path).map { row.isOwn($0) } ?? false }
        try connection.write { try Self.store(own, in: connection) }
      }
    } catch let error as DatabaseError where error.isDamage { throw error } catch {
      // A journal that cannot be read stays; the database does not need it.
      warn(.unusable, error)
    }
  }

  /// Whether a name is that of an index that this user's dlm set aside, or of such a one's log.
  private func isNameAside(_ name: String) -> Bool {
    let isLog = name.utf8.suffix(Self.log.utf8.count).elementsEqual(Self.log.utf8)
    let name = isLog ? String(decoding: name.utf8.dropLast(Self.log.utf8.count), as: UTF8.self) : name
    return secret.isName("index aside", name)
  }

  private struct OtherVersion: Error {}

  private struct LockHeld: Error, CustomStringConvertible {
    var description: String {
      "another process holds \(CacheIndex.lockName) and does not go on: is a dlm stopped?"
    }
  }

  /// How long to wait for another process that writes or opens the index. Clearing a large one takes a second; a
  /// process that was stopped (SIGSTOP) may hold its locks for ever.
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

  private func setAside(_ kind: CacheWarning.Kind, detail: String) throws {
    defer { close() }
    try alone {
      // Another process that met the same may have replaced the database already.
      guard let there = try folder.identity(of: Self.fileName), openedFile?.isSameFile(as: there) ?? true else {
        return
      }
      // First, since SQLite removes a log by its name when a database is closed.
      close()
      let stem = (kind == .otherVersion ? Self.otherName : Self.damagedName) + String(now())
      let name = secret.name("index aside", stem)
      // The log first: it must never stand beside a database that begins anew.
      if try folder.identity(of: Self.fileName + Self.log) != nil {
        try folder.rename(Self.fileName + Self.log, replacing: name + Self.log)
      }
      try folder.remove(Self.fileName + Self.memory)
      try folder.rename(Self.fileName, replacing: name)
      wasSetAside = true
      warnings.append(CacheWarning(kind, path: FilePath(path(name)), detail: detail))
    }
  }

  private func path(_ name: String) -> String { FilePath(folder.path).appending(name).string }

  // MARK: For `dlm cache …` and `dlm clear-cache`: every failure is one, `.cache`

  private func answering<Answer>(
    _ activity: String, _ body: (Connection) throws -> Answer
  ) throws(DownloadError) -> Answer {
    do { return try repairing(body) } catch { throw failure(error, activity) }
  }

  private func failure(_ error: any Error, _ activity: String) -> DownloadError {
    let cause: DownloadError.Cause =
      if let errno = error as? Errno { .errno(errno.rawValue) } else { .detail(String(describing: error)) }
    return DownloadError(.cache, cause: cause, path: folder.path, activity: activity)
  }

  func status() throws(DownloadError) -> CacheStatus {
    let (entries, bytes) =
      try answering("reading the index") { connection in
        try connection.look {
          try connection.statement(CacheSchema.figures).rows { ($0.number(0) ?? 0, $0.number(1) ?? 0) }.first
        }
      } ?? (0, 0)
    close()
    let taken = try bytesOnDisk()
    return CacheStatus(
      entries: Int(entries), indexBytes: taken.index, storeBytes: taken.store, fileBytes: bytes,
      folder: FilePath(folder.path))
  }

  /// The user's files in the order of their rows' keys, compared with the files on disk now.
  func page(after key: RowKey?, limit: Int) throws(DownloadError) -> [CacheEntry] {
    try rows(after: key, limit: limit, CacheSchema.pageOfUsers).map { CacheEntry($0) }
  }

  /// Rows in the order of their keys, those of the store among them.
  func rows(after key: RowKey?, limit: Int) throws(DownloadError) -> [CacheRow] {
    try rows(after: key, limit: limit, CacheSchema.page)
  }

  private func rows(after key: RowKey?, limit: Int, _ sql: String) throws(DownloadError) -> [CacheRow] {
    let key = key ?? RowKey(address: "", directory: "", requested: "")
    return try answering("reading the index") { connection in
      try connection.look { try connection.rows(sql, key.values + [.number(Int64(limit))]) }
    }
  }

  /// An address's rows in all folders and with all logins, in the order of their keys.
  func rows(of address: String) throws(DownloadError) -> [CacheRow] {
    try answering("reading the index") { connection in
      try connection.look { try connection.rows(CacheSchema.ofAddress, [.text(address)]) }
    }
  }

  /// The folders that have files.
  func directories() throws(DownloadError) -> [String] {
    try answering("reading the index") { connection in
      try connection.look { try connection.statement(CacheSchema.directories).rows { $0.text(0) } }
    }.compactMap(\.self)
  }

  /// Forgets the files that are gone or no longer as they were written, and those that were last used before `limit`.
  func prune(usedBefore limit: Int64?) throws(DownloadError) -> Freed {
    let before = try bytesOnDisk()
    var entries = 0
    var last: RowKey?
    while true {
      let page = try rows(after: last, limit: 1000)
      guard let end = page.last else { break }
      last = end.key
      let stale = page.filter { row in
        limit.map { row.usedAt < $0 } ?? false || CacheEntry(row).condition != .intact
      }
      entries += try forget(stale.map(\.key))
    }
    return Freed(entries: entries, bytes: try shrunk(from: before))
  }

  /// Forgets rows.
  /// - Returns: how many users' files there were among them: those of the store are nobody's but the cache's.
  func forget(_ keys: [RowKey]) throws(DownloadError) -> Int {
    guard !keys.isEmpty else { return 0 }
    return try answering("writing the index") { connection in
      try connection.write {
        let statement = try connection.statement(CacheSchema.delete)
        return try keys.reduce(0) { count, key in
          try statement.execute(key.values)
          return key.isStored ? count : count + connection.changes
        }
      }
    }
  }

  /// Forgets every file. Deleting goes through SQLite, so that a running `get` of another process keeps a sound
  /// database and a journal of its own.
  func clear() throws(DownloadError) -> Freed {
    let before = try bytesOnDisk()
    var journals = 0
    do {
      for name in try folder.names() where isNameAside(name) { _ = try folder.removeOwn(name) }
      try CommitJournal.forEachAbandoned(in: folder, secret) { _ in journals += 1 }
    } catch {
      throw failure(error, "clearing the cache")
    }
    let entries = try answering("clearing the index") { connection in
      try connection.write {
        let users = try connection.number("SELECT COUNT(*) FROM file WHERE requested <> '/'")
        // Without a condition SQLite frees the pages and looks at no row.
        try connection.execute("DELETE FROM file")
        return Int(users ?? 0)
      }
    }
    return Freed(entries: entries, bytes: try shrunk(from: before), journals: journals)
  }

  /// Forgets the files of some addresses, in all folders and with all logins.
  func clear(_ addresses: [String]) throws(DownloadError) -> Freed {
    let before = try bytesOnDisk()
    var entries = 0
    for address in addresses { entries += try forget(try rows(of: address).map(\.key)) }
    return Freed(entries: entries, bytes: try shrunk(from: before))
  }

  /// Removes entries of the store, those first that were used least recently, until they count no more than so many
  /// bytes.
  func prune(storeTo bytes: Int64) throws(DownloadError) -> Freed {
    let store = FileStore(in: folder, secret)
    var freed = Freed()
    while true {
      guard let evicted = evict(from: store, to: bytes) else {
        throw DownloadError(
          .cache, cause: .detail(warnings.last?.detail ?? "the index cannot be used"), path: folder.path,
          activity: "pruning the store")
      }
      freed.entries += evicted.entries
      freed.bytes += evicted.bytes
      if evicted.isDone { return freed }
    }
  }

  /// Returns the space of deleted rows to the disk. If another process prevents that, SQLite reuses the space for new
  /// rows, and `clear` reports only what was really freed.
  private func shrink() {
    sweep(FileStore(in: folder, secret), always: true)
    do {
      if let connection { try IndexPages.giveBack(connection) }
      try connection?.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    } catch {
      warn(.unusable, error)
    }
  }

  /// Gives back what deleted rows took.
  /// - Returns: how much less the folder takes than before.
  private func shrunk(from before: Taken) throws(DownloadError) -> Int64 {
    shrink()
    close()
    return max(0, before.all - (try bytesOnDisk()).all)
  }

  /// What the cache folder takes on the disk.
  private struct Taken {
    let index: Int64
    let store: Int64
    var all: Int64 { index + store }
  }

  /// As du(1) counts. Figures are taken once the database is closed: while open, it has a log and a table of its
  /// readers beside it. Where another process has it open, those are there before and after.
  private func bytesOnDisk() throws(DownloadError) -> Taken {
    do throws(Errno) {
      let (all, store) = (try folder.allocatedBytes(), try folder.allocatedBytes(of: FileStore.folderName))
      return Taken(index: all - store, store: store)
    } catch { throw failure(error, "measuring the cache") }
  }
}
