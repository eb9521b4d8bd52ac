import DownloadModel
import GRDB
import GRDBSQLite

/// Stores rows, one after the other, by `CacheSchema.insert`.
///
/// It speaks SQLite's C interface, because GRDB copies arguments three times on their way, which takes twice
/// as long as SQLite's own work. The texts of a row are copied into one buffer that stays where it is until
/// the row is stored, so that SQLite need not copy each of them.
final class RowInserter {
  private let statement: Statement
  private let database: Database
  private let texts = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 1)
  private var used = 0
  /// Texts for which the buffer has no room.
  private var longTexts: [UnsafeMutableRawBufferPointer] = []
  private var code = SQLITE_OK

  /// - Parameter database: must outlive this.
  init(_ database: Database) throws {
    self.database = database
    statement = try database.cachedStatement(sql: CacheSchema.insert)
  }

  deinit { texts.deallocate() }

  /// - Throws: `DatabaseError`.
  func insert(_ row: CacheRow) throws {
    defer { reset() }
    bind(row)
    if code == SQLITE_OK { code = sqlite3_step(statement.sqliteStatement) }
    guard code == SQLITE_DONE else {
      throw DatabaseError(resultCode: ResultCode(rawValue: code), message: database.lastErrorMessage)
    }
  }

  private func reset() {
    // Its result is that of the last step, which is known.
    sqlite3_reset(statement.sqliteStatement)
    sqlite3_clear_bindings(statement.sqliteStatement)
    for text in longTexts { text.deallocate() }
    (used, longTexts, code) = (0, [], SQLITE_OK)
  }

  /// In the order of `CacheSchema.columns`. What is not bound is NULL.
  private func bind(_ row: CacheRow) {
    let (key, identity, validator, freshness) = (row.key, row.identity, row.validator, row.freshness)
    bind(key.address, 1)
    bind(key.scope, 2)
    bind(key.directory, 3)
    bind(key.requested, 4)
    bind(row.name, 5)
    bind(row.wanted, 6)
    bind(identity.device, 7)
    bind(identity.inode, 8)
    bind(identity.size, 9)
    bind(identity.modified, 10)
    if let etag = validator.etag { bind(etag, 11) }
    if let lastModified = validator.lastModified { bind(lastModified, 12) }
    if let date = validator.date { bind(date, 13) }
    bind(row.fetchedAt, 14)
    if let cacheControl = freshness.cacheControl { bind(cacheControl, 15) }
    if let expires = freshness.expires { bind(expires, 16) }
    if let age = freshness.age { bind(age, 17) }
    if let vary = freshness.vary { bind(vary, 18) }
    if let address = row.effectiveURL { bind(address, 19) }
    if let digest = row.digest { bind(digest, 20) }
    if let selection = row.selection { bind(selection, 21) }
    bind(row.usedAt, 22)
    if let status = row.status { bind(Int64(status), 23) }
  }

  private func bind(_ number: Int64, _ column: CInt) {
    note(sqlite3_bind_int64(statement.sqliteStatement, column, number))
  }

  private func bind(_ text: String, _ column: CInt) {
    var text = text
    text.withUTF8 { utf8 in
      let room = room(for: utf8.count)
      room.copyMemory(from: UnsafeRawBufferPointer(utf8))
      // Never nil: that would be NULL, which is not the empty text.
      let start = room.baseAddress?.assumingMemoryBound(to: CChar.self)
      note(sqlite3_bind_text(statement.sqliteStatement, column, start, CInt(utf8.count), nil))
    }
  }

  private func room(for count: Int) -> UnsafeMutableRawBufferPointer {
    guard count <= texts.count - used else {
      let text = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
      longTexts.append(text)
      return text
    }
    defer { used += count }
    return UnsafeMutableRawBufferPointer(rebasing: texts[used..<used + count])
  }

  private func note(_ result: CInt) {
    if code == SQLITE_OK { code = result }
  }
}
