import FileReceiving

/// One cache actor's own connection to the index, for lookups on the network loop's thread. A query through the index's
/// actor would take ten times as long, because of the change of threads.
///
/// It never waits: in WAL mode, a writer does not block readers. It finds nothing after a failure, and while one
/// process has the database to itself: to repair the log, or to close it as the last. Then the index's actor is asked,
/// which waits, repairs and warns.
///
/// A transaction saves each of its lookups two locks that all loops share. It must end soon, because a log that is
/// being read cannot start over.
final class IndexReader {
  private let connection: Connection
  private let lookup, begin, commit: Statement
  let ownLookup: Statement
  private var reader, ownReader: RowReader
  private var isUsable = true
  /// Whether lookups see the index as it was at the first one.
  private(set) var isInTransaction = false

  /// More rows of one URL are left to the index's actor, where SQLite sorts them.
  private static let limit = 8

  /// - Parameter path: of a database that the index's actor has opened, so that its log and its tables exist.
  /// - Returns: `nil` if it cannot be opened.
  init?(path: String) {
    do {
      connection = try Connection(path, writes: false)
      lookup = try connection.statement(CacheSchema.rowsOfAddress)
      ownLookup = try connection.statement(CacheSchema.ownRow)
      reader = RowReader(lookup)
      ownReader = RowReader(ownLookup)
      begin = try connection.statement("BEGIN")
      commit = try connection.statement("COMMIT")
    } catch {
      return nil
    }
  }

  func endTransaction() {
    guard isInTransaction else { return }
    isInTransaction = false
    do { try commit.execute() } catch { isUsable = false }
  }

  /// Like `CacheIndex.rows`; `nil` if that must be asked.
  func rows(_ key: RowKey) -> [CacheRow]? { find(key, lookup) { try rows(through: key) } }

  /// The row of this very key; `nil` if it is missing, and also if `rows` must be asked.
  func own(_ key: RowKey) -> CacheRow? {
    find(key, ownLookup) { try ownLookup.step() ? try CacheRow(from: &ownReader, key: key) : nil }
  }

  private func find<Found>(_ key: RowKey, _ statement: Statement, _ read: () throws -> Found?) -> Found? {
    guard isUsable else { return nil }
    var address = key.address
    var directory = key.directory
    var requested = key.requested
    do {
      if !isInTransaction {
        try begin.execute()
        isInTransaction = true
      }
      // The texts stay in place until the statement is reset, so SQLite need not copy them.
      return try address.withUTF8 { address in
        try directory.withUTF8 { directory in
          try requested.withUTF8 { requested in
            defer { statement.reset() }
            try statement.bindInPlace(UnsafeRawBufferPointer(address), 1)
            try statement.bindInPlace(UnsafeRawBufferPointer(directory), 2)
            try statement.bindInPlace(UnsafeRawBufferPointer(requested), 3)
            return try read()
          }
        }
      }
    } catch {
      // An unreadable row affects only this lookup; an unreadable database is not read again.
      if let error = error as? Connection.Failure, !error.isBusy { isUsable = false }
      return nil
    }
  }

  private func rows(through key: RowKey) throws -> [CacheRow]? {
    var own: CacheRow?
    var others: [CacheRow] = []
    while try lookup.step() {
      let isOwn = lookup.number(CInt(RowColumn.all.count)) == 1
      guard others.count < Self.limit else { return nil }
      let row = try CacheRow(from: &reader, key: isOwn ? key : nil)
      if isOwn { own = row } else { others.append(row) }
    }
    if others.count > 1 { others.sort { $0.fetchedAt > $1.fetchedAt } }
    guard let own else { return others }
    return others.isEmpty ? [own] : [own] + others
  }
}
