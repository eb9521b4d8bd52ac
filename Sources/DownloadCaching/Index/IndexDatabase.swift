import FileReceiving
import Glibc
import Synchronization
import SystemPackage

/// The database of the index, opened at first use and replaced if it is damaged or of another version: the index must
/// never prevent a download. Files that it no longer knows are recognised by their bytes when they are downloaded again
/// (`Commit.adopt`). Isolated state of `CacheIndex`.
final class IndexDatabase {
  static let fileName = "index.sqlite"
  private static let lockName = "index.lock"
  private static let log = "-wal"
  private static let memory = "-shm"

  private let folder: Folder
  private let secret: UserSecret
  private let now: @Sendable () -> Int64
  private let patience: Patience
  private(set) var connection: Connection?
  /// The file on which the connection was, or was being, opened.
  private var openedFile: FileIdentity?
  /// Whether this process has set an index aside: no row then refers to the store's files.
  var wasSetAside = false
  /// If true, the index is not tried again for each of ten thousand files.
  private var isUnusable = false
  private(set) var warnings: [CacheWarning] = []

  init(in folder: Folder, _ secret: UserSecret, _ patience: Patience, now: @escaping @Sendable () -> Int64) {
    self.folder = folder
    self.secret = secret
    self.patience = patience
    self.now = now
  }

  var path: String { path(Self.fileName) }

  private func path(_ name: String) -> String { FilePath(folder.path).appending(name).string }

  /// The last connection moves the log into the database and removes the log, if it can write.
  func close() {
    connection?.close()
    connection = nil
  }

  func takeWarnings() -> [CacheWarning] {
    defer { warnings = [] }
    return warnings
  }

  func warn(_ error: any Error) {
    let warning = CacheWarning(path: FilePath(path), detail: CacheWarning.words(error))
    if !warnings.contains(warning) { warnings.append(warning) }
  }

  // MARK: Use

  /// - Returns: `nil` if the index cannot be used; the user is warned.
  func noting<Answer>(_ body: (Connection) throws -> Answer) -> Answer? {
    guard !isUnusable else { return nil }
    do { return try use(body) } catch {
      warn(error)
      // Otherwise each further query would fail in the same way, after the same wait.
      isUnusable = connection == nil || (error as? Connection.Failure)?.isBusy == true
      return nil
    }
  }

  /// Runs `body`. If the database is damaged or of another version, runs `body` again on a new one.
  func use<Answer>(_ body: (Connection) throws -> Answer) throws -> Answer {
    do { return try body(opened()) } catch let error as Connection.Failure where error.isDamage {
      try setAside(.damagedIndexSetAside, detail: error.message)
    } catch is RowReader.NoRow {
      try setAside(.damagedIndexSetAside, detail: "a row holds what no row holds")
    } catch is OtherVersion {
      try setAside(.otherVersion, detail: "")
    }
    return try body(opened())
  }

  // MARK: Opening

  private func opened() throws -> Connection {
    if let connection { return connection }
    let opened = try alone {
      // Private, because rows hold URLs, whose queries may hold secrets. SQLite gives its log the permissions of the
      // database.
      let standing = try folder.standing(Self.fileName)?.identity
      if standing == nil {
        // A log without its database: removed here, so that SQLite need not detect it.
        for ending in [Self.log, Self.memory] { try folder.remove(Self.fileName + ending) }
      } else if standing?.size == 0, try folder.standing(Self.fileName + Self.log) != nil {
        openedFile = standing
        throw Connection.Failure(code: Connection.Failure.damaged, message: "it is empty, and its log is not")
      }
      for ending in ["", Self.log, Self.memory] {
        try folder.makePrivate(Self.fileName + ending, creating: ending.isEmpty)
      }
      openedFile = try folder.standing(Self.fileName)?.identity
      let connection = try Connection(path, writes: true) { [patience] in patience.waits(try: $0) }
      try Self.prepare(connection, isNew: (standing?.size ?? 0) == 0)
      openedFile = try folder.standing(Self.fileName)?.identity
      return connection
    }
    connection = opened
    return opened
  }

  private static func prepare(_ connection: Connection, isNew: Bool) throws {
    // A new index has nothing to lose in a power cut, and the first checkpoint syncs all of it. `auto_vacuum` is for
    // `giveBackPages`, and must precede the first table.
    if isNew { try connection.execute("PRAGMA synchronous = OFF; PRAGMA auto_vacuum = INCREMENTAL") }
    guard try connection.texts("PRAGMA journal_mode = WAL") == ["wal"] else {
      throw Connection.Failure(
        code: Connection.Failure.unusable, message: "its file system has no memory that processes share (SQLite's WAL)")
    }
    // With SQLite's own 1,000 pages, a run of ten thousand files would move each page from the log four times, with two
    // syncs each time. The log takes at most 16 MiB until the last process closes.
    try connection.execute("PRAGMA wal_autocheckpoint = 4000")
    let format = try connection.look {
      let format = try connection.number("PRAGMA user_version") ?? 0
      if format == 0, try connection.number("SELECT COUNT(*) FROM sqlite_master") != 0 { throw OtherVersion() }
      return format
    }
    if format == 0 {
      try connection.write { try connection.execute(CacheSchema.tables) }
    } else if format != CacheSchema.format {
      throw OtherVersion()
    }
    try connection.execute("PRAGMA synchronous = NORMAL")
    // Detects a table of another kind now.
    _ = try connection.statement(CacheSchema.lookup)
  }

  /// Two processes must not create, or set aside, the same file at once.
  private func alone<Answer>(_ body: () throws -> Answer) throws -> Answer {
    try folder.makePrivate(Self.lockName, creating: true)
    let lock = try folder.open(Self.lockName, O_RDWR | O_CREAT, mode: 0o600)
    var tries = 0
    while !lock.lock() {
      guard patience.waits(try: tries) else { throw LockHeld() }
      tries += 1
    }
    defer { lock.unlock() }
    return try body()
  }

  private struct OtherVersion: Error {}

  private struct LockHeld: Error, CustomStringConvertible {
    var description: String { "another process holds \(IndexDatabase.lockName) and does not go on: is a dlm stopped?" }
  }

  // MARK: Setting aside

  private func setAside(_ kind: CacheWarning.Kind, detail: String) throws {
    defer { close() }
    try alone {
      // Another process with the same problem may have replaced the database already.
      guard let there = try folder.standing(Self.fileName)?.identity, openedFile?.isSameFile(as: there) ?? true else {
        return
      }
      // First, because SQLite removes a log by its name when a database is closed.
      close()
      let reason = kind == .otherVersion ? "other" : "damaged"
      let name = secret.name("index aside", "\(Self.fileName).\(reason)-\(now())")
      // The log first: it must never be beside a new database.
      if try folder.standing(Self.fileName + Self.log) != nil {
        try folder.rename(Self.fileName + Self.log, replacing: name + Self.log)
      }
      try folder.remove(Self.fileName + Self.memory)
      try folder.rename(Self.fileName, replacing: name)
      wasSetAside = true
      warnings.append(CacheWarning(kind, path: FilePath(path(name)), detail: detail))
    }
  }

  func removeThoseAside() throws {
    for name in try folder.names() {
      let stem = name.hasSuffix(Self.log) ? String(name.dropLast(Self.log.count)) : name
      if secret.isName("index aside", stem) { _ = try folder.removeOwn(name) }
    }
  }

  // MARK: Free pages

  /// Returns free pages to the disk, a few in each transaction, so that no other process waits long.
  static func giveBackPages(_ connection: Connection, pause: () throws -> Void = leaveAlone) throws {
    var before = Int64.max
    while true {
      try connection.execute("PRAGMA incremental_vacuum(256)")
      let free = try connection.number("PRAGMA freelist_count") ?? 0
      try pause()
      // Other processes may free pages meanwhile: this continues only while their number falls.
      guard free > 0, free < before else { return }
      before = free
    }
  }

  /// Leaves the database alone for about as long as a step held it: a waiting process tries every 20 ms.
  static func leaveAlone() { usleep(5000) }

  /// How long to wait for another process that holds the index: a stopped one (SIGSTOP) may hold it forever.
  final class Patience: Sendable {
    private let isOver = Atomic<Bool>(false)
    private static let pause: UInt32 = 20_000  // microseconds
    private static let tries = 250

    func end() { isOver.store(true, ordering: .relaxed) }

    /// Pauses for a moment. Returns false if the caller should give up.
    func waits(try number: Int) -> Bool {
      guard number < Self.tries, !isOver.load(ordering: .relaxed) else { return false }
      usleep(Self.pause)
      return true
    }
  }
}
