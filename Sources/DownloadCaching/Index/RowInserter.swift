import DownloadModel
import GRDB
import GRDBSQLite
import Glibc

/// Stores rows, one after the other, by `CacheSchema.insert`, as they stand in the lines of a journal: those
/// have the fields in the order of the columns, and lie side by side in memory, where SQLite takes the texts
/// from without a copy of each.
///
/// It speaks SQLite's C interface, because GRDB copies arguments three times on their way, which takes twice
/// as long as SQLite's own work.
final class RowInserter {
  private let statement: Statement
  private let database: Database
  /// Texts that do not stand in the line as they are.
  private var texts: [UnsafeMutableRawBufferPointer] = []

  /// - Parameter database: must outlive this.
  init(_ database: Database) throws {
    self.database = database
    statement = try database.cachedStatement(sql: CacheSchema.insert)
  }

  /// - Throws: `DatabaseError`.
  func insert(_ row: CacheRow) throws {
    try JournalLine.encode(row).dropLast().withUnsafeBytes { try insert(line: $0) }
  }

  /// - Parameter line: as `JournalLine` writes it, without its line feed.
  /// - Throws: `DatabaseError`.
  func insert(line: UnsafeRawBufferPointer) throws {
    defer { reset() }
    var code = bind(line)
    if code == SQLITE_OK { code = sqlite3_step(statement.sqliteStatement) }
    guard code == SQLITE_DONE else {
      throw DatabaseError(resultCode: ResultCode(rawValue: code), message: database.lastErrorMessage)
    }
  }

  private func reset() {
    // Its result is that of the last step, which is known.
    sqlite3_reset(statement.sqliteStatement)
    sqlite3_clear_bindings(statement.sqliteStatement)
    for text in texts { text.deallocate() }
    texts = []
  }

  /// What is not bound is NULL.
  private func bind(_ line: UnsafeRawBufferPointer) -> CInt {
    guard var start = line.baseAddress else { return SQLITE_MISUSE }
    let end = start + line.count
    var column: CInt = 0
    while column <= CacheSchema.columnCount {
      let tab = memchr(start, CInt(UInt8(ascii: "\t")), end - start)
      let stop = tab.map { UnsafeRawPointer($0) } ?? end
      // The first field is the format.
      if column > 0 {
        let code = bind(start, stop - start, column)
        if code != SQLITE_OK { return code }
      }
      start = stop == end ? end : stop + 1
      column += 1
    }
    return SQLITE_OK
  }

  private func bind(_ field: UnsafeRawPointer, _ count: Int, _ column: CInt) -> CInt {
    if JournalLine.isNothing(field, count) { return SQLITE_OK }
    switch column {
    // Device, inode, size and times, status.
    case 7...10, 14, 22, 23, 25:
      return sqlite3_bind_int64(statement.sqliteStatement, column, JournalLine.number(field, count))
    default:
      if memchr(field, CInt(UInt8(ascii: "\\")), count) == nil { return bindText(field, count, column) }
      let text = JournalLine.unescaped(UnsafeRawBufferPointer(start: field, count: count)) ?? []
      let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(text.count, 1), alignment: 1)
      copy.copyBytes(from: text)
      texts.append(copy)
      return bindText(copy.baseAddress, text.count, column)
    }
  }

  /// The bytes stay where they are until the row is stored, so that SQLite need not copy them. Never without
  /// a place: that would be NULL, which is not the empty text.
  private func bindText(_ text: UnsafeRawPointer?, _ count: Int, _ column: CInt) -> CInt {
    sqlite3_bind_text(
      statement.sqliteStatement, column, text?.assumingMemoryBound(to: CChar.self), CInt(count), nil)
  }
}
