import DownloadModel
import Glibc

/// Stores rows, one after the other, by `CacheSchema.insert`, as they stand in the lines of a journal: those have the
/// fields in the order of the columns, and lie side by side in memory, where SQLite takes the texts from without a copy
/// of each.
final class RowInserter {
  private let statement: Statement
  /// Texts that do not stand in the line as they are.
  private var texts: [UnsafeMutableRawBufferPointer] = []

  init(_ connection: Connection) throws(DatabaseError) {
    statement = try connection.statement(CacheSchema.insert)
  }

  /// - Throws: `DatabaseError`.
  func insert(_ row: CacheRow) throws {
    try JournalLine.encode(row).withUnsafeBytes {
      try insert(line: UnsafeRawBufferPointer(rebasing: $0.dropLast()))
    }
  }

  /// - Parameter line: as `JournalLine` writes it, without its line feed.
  func insert(line: UnsafeRawBufferPointer) throws(DatabaseError) {
    defer { reset() }
    try bind(line)
    _ = try statement.step()
  }

  private func reset() {
    statement.reset()
    for text in texts { text.deallocate() }
    texts = []
  }

  /// What is not bound is NULL.
  private func bind(_ line: UnsafeRawBufferPointer) throws(DatabaseError) {
    guard var start = line.baseAddress else { return }
    let end = start + line.count
    var column: CInt = 0
    while column <= RowColumn.all.count {
      let tab = memchr(start, CInt(UInt8(ascii: "\t")), end - start)
      let stop = tab.map { UnsafeRawPointer($0) } ?? end
      // The first field is the format.
      if column > 0 { try bind(UnsafeRawBufferPointer(start: start, count: stop - start), column) }
      start = stop == end ? end : stop + 1
      column += 1
    }
  }

  private func bind(_ field: UnsafeRawBufferPointer, _ column: CInt) throws(DatabaseError) {
    guard let start = field.baseAddress, !JournalLine.isNothing(start, field.count) else { return }
    if RowColumn.all[Int(column) - 1].isNumber {
      return try statement.bind(JournalLine.number(start, field.count), column)
    }
    // The bytes stay where they are until the row is stored, so that SQLite need not copy them.
    if memchr(start, CInt(UInt8(ascii: "\\")), field.count) == nil {
      return try statement.bindInPlace(field, column)
    }
    let text = JournalLine.unescaped(field) ?? []
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: text.count, alignment: 1)
    copy.copyBytes(from: text)
    texts.append(copy)
    try statement.bindInPlace(UnsafeRawBufferPointer(copy), column)
  }
}
