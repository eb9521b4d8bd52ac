import DownloadModel
import GRDB
import Glibc
import SystemPackage

/// Replaces an index that cannot be used by a new one, which begins with what the old one still told.
///
/// Under the index's lock:
///
/// | step | killed after it, there is | and the next process |
/// |---|---|---|
/// | 1 draft written | the old index, half a draft | does it all again, and reads the draft too |
/// | 2 the old log renamed | the old index, the draft | the same; or takes the draft's rows in, if it opens |
/// | 3 the old index renamed | the draft alone | begins a new one, and takes the draft's rows in |
/// | 4 draft renamed | the new index | uses it |
///
/// Nothing is lost but what the damage took: the old index stays, under a name that `dlm clear-cache` knows.
/// If a step fails (the disk is full), everything stays as it was, and this run does without the index.
struct IndexRebuilding {
  private let folder: Folder
  private let secret: UserSecret
  private let name: String

  static let log = "-wal"
  static let memory = "-shm"

  /// - Parameter name: the index's.
  init(in folder: Folder, _ secret: UserSecret, name: String) {
    self.folder = folder
    self.secret = secret
    self.name = name
  }

  private static let beginning = ".new-"

  /// Only this user's dlm can compute it.
  static func draftName(of name: String, _ secret: UserSecret) -> String {
    name + beginning + secret.tag("draft of the index", name)
  }

  /// The secret is read only where a name may be one.
  static func isDraftName(_ text: String, of name: String, _ secret: UserSecret) -> Bool {
    text.utf8.starts(with: (name + beginning).utf8) && text == draftName(of: name, secret)
  }

  private var draft: String { Self.draftName(of: name, secret) }

  /// What in the old index can be believed.
  enum Source {
    /// Its pages, one by one.
    case pages
    /// What a later version has in the columns of this one.
    case rows
  }

  /// - Parameters:
  ///   - aside: the name that the old index gets.
  ///   - release: closes the old index, once it was read: SQLite removes a log by its name, and that will be
  ///     the new one's.
  func run(_ source: Source, aside: String, release: () -> Void) throws -> IndexSalvage.Count {
    let before = try open(draft)
    if before.isOpen { try folder.remove(draft) }
    var salvage = try IndexSalvage()
    do {
      let queue = try newDraft()
      func store(_ rows: [CacheRow]) throws { try queue.write { try Self.store(rows, in: $0) } }
      try read(source, &salvage, store)
      let none = Descriptor.closed
      if before.isOpen { try salvage.read(before, log: none, store) }
      salvage.keep(try queue.write { try Self.settle($0) })
      try queue.close()
      release()
      try swap(aside: aside)
    } catch {
      for ending in ["", "-journal"] { try folder.remove(draft + ending) }
      throw error
    }
    return salvage.count
  }

  private func newDraft() throws -> DatabaseQueue {
    try folder.makePrivate(draft, creating: true)
    var configuration = Configuration()
    configuration.label = "dlm.cache-draft"
    // Nobody relies on a draft: if dlm is killed, it is read page by page.
    configuration.prepareDatabase { database in
      try IndexPages.prepare(database)
      try database.execute(sql: "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
    }
    let queue = try DatabaseQueue(path: path(draft), configuration: configuration)
    try CacheSchema.migrator.migrate(queue)
    return queue
  }

  private func read(
    _ source: Source, _ salvage: inout IndexSalvage, _ store: ([CacheRow]) throws -> Void
  ) throws {
    switch source {
    case .pages:
      let log = try open(name + Self.log)
      try salvage.read(try open(name), log: log, store)
    case .rows:
      let old = try DatabaseQueue(path: path(name))
      let statement = "SELECT \(CacheSchema.columns) FROM file"
      let isKnown = try old.read { database in (try? database.makeStatement(sql: statement)) != nil }
      // A table of another kind: then nothing of it is understood.
      guard isKnown else { return }
      try old.read { database in
        let cursor = try Row.fetchCursor(database, sql: statement)
        var rows: [CacheRow] = []
        while let row = try cursor.next() {
          if let row = try? CacheRow(row: row) { rows.append(row) }
          if rows.count == 1000 {
            try salvage.take(rows, store)
            rows = []
          }
        }
        try salvage.take(rows, store)
      }
      try old.close()
    }
  }

  /// - Returns: a closed one where there is none.
  private func open(_ name: String) throws(Errno) -> Descriptor {
    do throws(Errno) { return try folder.open(name, O_RDONLY | O_NONBLOCK) } catch .noSuchFileOrDirectory {
      return .closed
    }
  }

  private func swap(aside: String) throws(Errno) {
    if try folder.identity(of: name + Self.log) != nil {
      try folder.rename(name + Self.log, replacing: aside + Self.log)
    }
    try folder.remove(name + Self.memory)
    if try folder.identity(of: name) != nil { try folder.rename(name, replacing: aside) }
    try folder.rename(draft, replacing: name)
  }

  private func path(_ name: String) -> String { FilePath(folder.path).appending(name).string }

  // MARK: Rows

  /// Stores rows, but not where a newer version of one is there.
  static func store(_ rows: [CacheRow], in database: Database) throws {
    let inserter = try RowInserter(database)
    let lookup = try database.cachedStatement(sql: CacheSchema.lookup)
    for row in rows {
      let there = try CacheRow.fetchOne(lookup, arguments: row.key.arguments)
      if let there, there.key == row.key, there.isIntact,
        (there.fetchedAt, there.usedAt) >= (row.fetchedAt, row.usedAt)
      {
        continue
      }
      try inserter.insert(row)
    }
  }

  /// Drops rows of one file that claims to belong to two addresses: nobody knows any more whose it is.
  /// - Returns: how many rows there are then.
  private static func settle(_ database: Database) throws -> Int {
    try database.execute(
      sql: """
        DELETE FROM file WHERE (directory, name) IN
          (SELECT directory, name FROM file GROUP BY directory, name HAVING COUNT(*) > 1)
        """)
    return try Int.fetchOne(database, sql: "SELECT COUNT(*) FROM file") ?? 0
  }

  /// Takes in the rows of a draft whose process was killed before it became the index.
  func adoptDraft(_ store: ([CacheRow]) throws -> Void) throws {
    let left = try open(draft)
    guard left.isOpen else { return }
    if try left.isOwn(closedTo: 0o077) {
      var salvage = try IndexSalvage()
      let none = Descriptor.closed
      try salvage.read(left, log: none, store)
      try folder.remove(draft)
    }
  }
}
