public import DownloadModel
public import SystemPackage

/// One cache actor's own connection to the index, for lookups on the network loop's thread: to ask the index's actor
/// takes a change of threads and back, ten times as long as the lookup.
///
/// It never waits: in WAL mode a writer does not hold up readers. In the rare moments where one process has the
/// database for itself (it repairs the log, or is the last to close), and after any failure, it finds nothing; then the
/// index's actor is asked, which waits, repairs and warns.
///
/// A transaction over several lookups saves each of them two locks, of which SQLite keeps one set for the whole
/// process, so that two loops would wait for each other. It must end soon, since a log that is being read cannot begin
/// anew.
final class IndexReader {
  private let connection: Connection
  private let lookup, ownLookup, begin, commit: Statement
  private var reader, ownReader: RowReader
  private var isUsable = true
  /// Whether lookups see the index as it was at the first of them.
  private(set) var isInTransaction = false

  /// More rows of one address are sorted by SQLite, for the index's actor.
  private static let limit = 8

  /// - Parameter path: of a database that the index's actor has opened, so that its log and its tables exist.
  /// - Returns: nil if it cannot be opened.
  init?(path: String) {
    do throws(DatabaseError) {
      connection = try Connection(path, .readOnly)
      lookup = try connection.statement(CacheSchema.rowsOfAddress)
      ownLookup = try connection.statement(CacheSchema.ownRow)
      (reader, ownReader) = (RowReader(lookup), RowReader(ownLookup))
      begin = try connection.statement("BEGIN")
      commit = try connection.statement("COMMIT")
    } catch {
      return nil
    }
  }

  /// How often SQLite has planned the lookup of an own row anew.
  var plansMade: Int32 { ownLookup.plansMade }

  /// Ends the transaction that a lookup began.
  func endTransaction() {
    guard isInTransaction else { return }
    isInTransaction = false
    do throws(DatabaseError) { try commit.execute() } catch { isUsable = false }
  }

  /// As `CacheIndex.rows`.
  /// - Returns: nil if that is to be asked.
  func rows(_ key: RowKey) -> [CacheRow]? { find(key, lookup) { try rows(through: key) } }

  /// The row of the folder and name in the key, without a look at those behind it.
  /// - Returns: nil if there is none, and also if `rows` is to be asked.
  func own(_ key: RowKey) -> CacheRow? {
    find(key, ownLookup) { try ownLookup.step() ? try CacheRow(from: &ownReader, key: key) : nil }
  }

  /// Binds a key to a statement.
  private func find<Found>(_ key: RowKey, _ statement: Statement, _ read: () throws -> Found?) -> Found? {
    guard isUsable else { return nil }
    var (address, directory, requested) = (key.address, key.directory, key.requested)
    do {
      if !isInTransaction {
        try begin.execute()
        isInTransaction = true
      }
      // The texts stay where they are until the statement is reset, so SQLite need not copy them.
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
      // A row that cannot be read is one of many; a database that cannot is asked no more.
      if let error = error as? DatabaseError, !error.isBusy { isUsable = false }
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

/// How long files were when they were last fetched, by the index: for the order of a run, and for nothing else, since a
/// file may have changed. It never waits: what cannot be had at once is not known.
public final class IndexedSizes {
  private let connection: Connection
  private let lookup: Statement

  /// - Parameter folder: the cache's.
  /// - Returns: nil if there is no index yet, or none that can be read.
  public init?(in folder: FilePath) {
    guard let own = try? Folder(own: folder), (try? own.standing(IndexDatabase.fileName))?.isUsers == true,
      let connection = try? Connection(folder.appending(IndexDatabase.fileName).string, .readOnly),
      let lookup = try? connection.statement(CacheSchema.sizeOfAddress)
    else { return nil }
    (self.connection, self.lookup) = (connection, lookup)
  }

  /// - Returns: bytes; nil if unknown.
  public func size(of address: Address) -> Int64? {
    // What cannot be read is not known.
    let found = try? lookup.rows([.text(address.resource)]) { $0.number(0) }.first
    guard let size = found ?? nil, CacheRow.sizes.contains(size) else { return nil }
    return size
  }
}
