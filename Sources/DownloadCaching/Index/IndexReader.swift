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
  private let lookup, begin, commit: OpaquePointer
  private var isUsable = true
  /// Whether lookups see the index as it was at the first of them.
  private(set) var isInTransaction = false

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
      let lookup = prepare(CacheSchema.rowsOfAddress), let begin = prepare("BEGIN"),
      let commit = prepare("COMMIT")
    else {
      // A connection with statements is closed when they are, so those that were made stay until the end.
      sqlite3_close_v2(connection)
      return nil
    }
    (self.connection, self.lookup, self.begin, self.commit) = (connection, lookup, begin, commit)
  }

  deinit {
    for statement in [lookup, begin, commit] { sqlite3_finalize(statement) }
    sqlite3_close_v2(connection)
  }

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
  func rows(_ key: RowKey) -> [CacheRow]? { read(key, onlyOwn: false) }

  /// The row of the folder and name in the key, without a look at those behind it.
  /// - Returns: nil if there is none, and also if `rows` is to be asked.
  func own(_ key: RowKey) -> CacheRow? { read(key, onlyOwn: true)?.first }

  private func read(_ key: RowKey, onlyOwn: Bool) -> [CacheRow]? {
    guard isUsable, beginTransaction() else { return nil }
    var (address, scope, directory, requested) = (key.address, key.scope, key.directory, key.requested)
    // The texts stay where they are until the statement is reset, so SQLite need not copy them.
    return address.withUTF8 { address in
      scope.withUTF8 { scope in
        directory.withUTF8 { directory in
          requested.withUTF8 { requested in
            defer { sqlite3_reset(lookup) }
            for (index, text) in [address, scope, directory, requested].enumerated() {
              guard bind(text, at: CInt(index) + 1) else { return nil }
            }
            return step(through: key, onlyOwn: onlyOwn)
          }
        }
      }
    }
  }

  private func bind(_ text: UnsafeBufferPointer<UInt8>, at index: CInt) -> Bool {
    guard let start = text.baseAddress, !text.isEmpty else {
      return sqlite3_bind_text(lookup, index, "", 0, nil) == SQLITE_OK
    }
    return start.withMemoryRebound(to: CChar.self, capacity: text.count) {
      sqlite3_bind_text(lookup, index, $0, CInt(text.count), nil) == SQLITE_OK
    }
  }

  private func step(through key: RowKey, onlyOwn: Bool) -> [CacheRow]? {
    var own: CacheRow?
    var others: [CacheRow] = []
    while true {
      switch sqlite3_step(lookup) {
      case SQLITE_DONE:
        if onlyOwn { return [] }
        if others.count > 1 { others.sort { $0.fetchedAt > $1.fetchedAt } }
        guard let own else { return others }
        return others.isEmpty ? [own] : [own] + others
      case SQLITE_ROW:
        let isOwn = number(0) == 1
        if onlyOwn {
          guard isOwn else { continue }
          return row(key, of: key).map { [$0] }
        }
        guard others.count < Self.limit, let row = row(isOwn ? key : nil, of: key) else { return nil }
        if isOwn { own = row } else { others.append(row) }
      case SQLITE_BUSY: return nil
      default:
        isUsable = false
        return nil
      }
    }
  }

  // MARK: Columns of `CacheSchema.rowsOfAddress`

  /// - Returns: nil for a value of the wrong type.
  private func row(_ own: RowKey?, of key: RowKey) -> CacheRow? {
    guard
      let key = own
        ?? text(1).flatMap({ directory in
          text(2).map { RowKey(address: key.address, scope: key.scope, directory: directory, requested: $0) }
        }),
      let name = text(3), let wanted = text(4), let device = number(5), let inode = number(6),
      let size = number(7), let modified = number(8), let fetchedAt = number(12), let usedAt = number(20)
    else { return nil }
    return CacheRow(
      key: key, name: name, wanted: name == wanted ? name : wanted,
      identity: FileIdentity(device: device, inode: inode, size: size, modified: modified),
      validator: Validator(etag: text(9), lastModified: text(10), date: text(11)), fetchedAt: fetchedAt,
      usedAt: usedAt, status: number(21).map { Int($0) },
      freshness: FreshnessFields(cacheControl: text(13), expires: text(14), age: text(15), vary: text(16)),
      effectiveURL: text(17), selection: text(19), digest: text(18))
  }

  private func number(_ column: CInt) -> Int64? {
    sqlite3_column_type(lookup, column) == SQLITE_INTEGER ? sqlite3_column_int64(lookup, column) : nil
  }

  private func text(_ column: CInt) -> String? {
    guard sqlite3_column_type(lookup, column) == SQLITE_TEXT, let start = sqlite3_column_text(lookup, column)
    else { return nil }
    let count = Int(sqlite3_column_bytes(lookup, column))
    return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  }
}
