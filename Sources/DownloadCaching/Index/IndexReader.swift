import DownloadModel
import GRDBSQLite

/// One cache actor's own connection to the index, for lookups on the network loop's thread. To ask the
/// index's actor takes a change of threads and back, and that took ten times as long as the lookup.
///
/// It never waits: in WAL mode a writer does not hold up readers. In the rare moments where one process has
/// the database for itself (it repairs the log, or is the last to close), and after any failure, `rows` gives
/// nil; then the index's actor is asked, which waits, repairs and warns.
///
/// A transaction over several lookups saves each of them two locks, of which SQLite keeps one set for the
/// whole process, so that two loops would wait for each other. It must end soon, since a log that is being
/// read cannot begin anew.
///
/// It speaks SQLite's C interface, because a lookup through GRDB takes five times as long: it begins and ends
/// a transaction by statements, and looks up and copies what this type does once.
final class IndexReader {
  private let connection: OpaquePointer
  private let lookup, ownLookup, begin, commit: OpaquePointer
  private var isUsable = true
  /// Whether lookups see the index as it was at the first of them.
  private(set) var isInTransaction = false
  /// The last text of each column that is often the same as that of the row before: dates, and what the
  /// server says of freshness.
  private var lastTexts = [String?](repeating: nil, count: CacheSchema.columnCount)

  /// More rows of one address are sorted by SQLite, for the index's actor.
  private static let limit = 8

  /// - Parameter path: of a database that the index's actor has opened, so that its log and its tables exist.
  /// - Returns: nil if it cannot be opened.
  init?(path: String) {
    var connection: OpaquePointer?
    func prepare(_ sql: String) -> OpaquePointer? {
      var statement: OpaquePointer?
      // Nil after a failure.
      _ = sqlite3_prepare_v3(connection, sql, -1, CUnsignedInt(SQLITE_PREPARE_PERSISTENT), &statement, nil)
      return statement
    }
    // Used by one actor only.
    let flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX
    guard sqlite3_open_v2(path, &connection, flags, nil) == SQLITE_OK, let connection,
      let lookup = prepare(CacheSchema.rowsOfAddress), let ownLookup = prepare(CacheSchema.ownRow),
      let begin = prepare("BEGIN"), let commit = prepare("COMMIT")
    else {
      // A connection with statements is closed when they are, so those that were made stay until the end.
      sqlite3_close_v2(connection)
      return nil
    }
    (self.connection, self.begin, self.commit) = (connection, begin, commit)
    (self.lookup, self.ownLookup) = (lookup, ownLookup)
  }

  deinit {
    for statement in [lookup, ownLookup, begin, commit] { sqlite3_finalize(statement) }
    sqlite3_close_v2(connection)
  }

  /// How often SQLite has planned the lookup of an own row anew.
  var plansMade: Int32 { sqlite3_stmt_status(ownLookup, SQLITE_STMTSTATUS_REPREPARE, 0) }

  /// Ends the transaction that a lookup began.
  func endTransaction() {
    guard isInTransaction else { return }
    isInTransaction = false
    if sqlite3_step(commit) != SQLITE_DONE { isUsable = false }
    sqlite3_reset(commit)
  }

  private func beginTransaction() -> Bool {
    guard !isInTransaction else { return true }
    isInTransaction = sqlite3_step(begin) == SQLITE_DONE
    sqlite3_reset(begin)
    return isInTransaction
  }

  /// As `CacheIndex.rows`.
  /// - Returns: nil if that is to be asked.
  func rows(_ key: RowKey) -> [CacheRow]? { find(key, lookup) { step(through: key) } }

  /// The row of the folder and name in the key, without a look at those behind it.
  /// - Returns: nil if there is none, and also if `rows` is to be asked.
  func own(_ key: RowKey) -> CacheRow? {
    find(key, ownLookup) {
      switch sqlite3_step(ownLookup) {
      case SQLITE_ROW: return row(key, of: key, ownLookup)
      case SQLITE_DONE, SQLITE_BUSY: return nil
      default:
        isUsable = false
        return nil
      }
    }
  }

  /// Binds a key to a statement.
  private func find<Found>(_ key: RowKey, _ statement: OpaquePointer, _ read: () -> Found?) -> Found? {
    guard isUsable, beginTransaction() else { return nil }
    var (address, directory, requested) = (key.address, key.directory, key.requested)
    // The texts stay where they are until the statement is reset, so SQLite need not copy them.
    return address.withUTF8 { address in
      directory.withUTF8 { directory in
        requested.withUTF8 { requested in
          defer { sqlite3_reset(statement) }
          guard bind(address, 1, statement), bind(directory, 2, statement), bind(requested, 3, statement)
          else { return nil }
          return read()
        }
      }
    }
  }

  private func bind(_ text: UnsafeBufferPointer<UInt8>, _ index: CInt, _ statement: OpaquePointer) -> Bool {
    guard let start = text.baseAddress, !text.isEmpty else {
      return sqlite3_bind_text(statement, index, "", 0, nil) == SQLITE_OK
    }
    return start.withMemoryRebound(to: CChar.self, capacity: text.count) {
      sqlite3_bind_text(statement, index, $0, CInt(text.count), nil) == SQLITE_OK
    }
  }

  private func step(through key: RowKey) -> [CacheRow]? {
    var own: CacheRow?
    var others: [CacheRow] = []
    while true {
      switch sqlite3_step(lookup) {
      case SQLITE_DONE:
        if others.count > 1 { others.sort { $0.fetchedAt > $1.fetchedAt } }
        guard let own else { return others }
        return others.isEmpty ? [own] : [own] + others
      case SQLITE_ROW:
        let isOwn = number(0, lookup) == 1
        guard others.count < Self.limit, let row = row(isOwn ? key : nil, of: key, lookup) else { return nil }
        if isOwn { own = row } else { others.append(row) }
      case SQLITE_BUSY: return nil
      default:
        isUsable = false
        return nil
      }
    }
  }

  // MARK: Columns of `CacheSchema.rowsOfAddress`, and of `ownRow`

  /// - Returns: nil for a value of the wrong type.
  private func row(_ own: RowKey?, of key: RowKey, _ statement: OpaquePointer) -> CacheRow? {
    func number(_ column: CInt) -> Int64? { self.number(column, statement) }
    func text(_ column: CInt) -> String? { self.text(column, statement) }
    func repeated(_ column: CInt) -> String? { self.repeated(column, statement) }
    guard
      let key = own
        ?? text(1).flatMap({ directory in
          text(2).map { RowKey(address: key.address, directory: directory, requested: $0) }
        }),
      let name = text(3), let wanted = text(4), let device = number(5), let inode = number(6),
      let size = number(7), let modified = number(8), let fetchedAt = number(12), let usedAt = number(20),
      let changed = number(23), let trust = text(24)
    else { return nil }
    return CacheRow(
      key: key, name: name, wanted: name == wanted ? name : wanted,
      identity: FileIdentity(device: device, inode: inode, size: size, modified: modified),
      changed: ChangeTime(number: changed),
      validator: Validator(etag: text(9), lastModified: repeated(10), date: repeated(11)),
      fetchedAt: fetchedAt, usedAt: usedAt, status: number(21).map { Int($0) },
      freshness: FreshnessFields(
        cacheControl: repeated(13), expires: repeated(14), age: text(15), vary: text(16)),
      effectiveURL: text(17), trust: TrustMark(text: trust), selection: text(19), digest: text(18),
      sum: text(22))
  }

  private func number(_ column: CInt, _ statement: OpaquePointer) -> Int64? {
    sqlite3_column_type(statement, column) == SQLITE_INTEGER ? sqlite3_column_int64(statement, column) : nil
  }

  private func text(_ column: CInt, _ statement: OpaquePointer) -> String? {
    utf8(column, statement).map { String(decoding: $0, as: UTF8.self) }
  }

  private func utf8(_ column: CInt, _ statement: OpaquePointer) -> UnsafeBufferPointer<UInt8>? {
    guard sqlite3_column_type(statement, column) == SQLITE_TEXT,
      let start = sqlite3_column_text(statement, column)
    else { return nil }
    return UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column)))
  }

  /// The same, without a new text where it is that of the row before.
  private func repeated(_ column: CInt, _ statement: OpaquePointer) -> String? {
    guard let utf8 = utf8(column, statement) else { return nil }
    if var last = lastTexts[Int(column)], last.withUTF8({ FileNaming.areSame($0, utf8) }) { return last }
    let text = String(decoding: utf8, as: UTF8.self)
    lastTexts[Int(column)] = text
    return text
  }
}
