import DownloadModel
import FileReceiving
import Glibc
import Synchronization
import SystemPackage

/// A row as one line of a journal, with its columns as SQLite takes them without a copy.
///
///     length 4 │ check 4 │ changed 8 │ count 4, bytes │ count 4, bytes │ … │ zeros up to a multiple of 8
///
/// A count of -1 stands for nothing, and a number has eight bytes. The check is of all that follows `changed`, so that
/// what a power cut tore is no line; `changed` is written once the file has its name.
struct JournalLine {
  /// A line of another format fails the check.
  private static let format: UInt64 = 2
  private static let placeOfChange = 8
  private static let headLength = 16

  let bytes: UnsafeRawBufferPointer

  /// - Returns: nil where no line begins, or not all of it is there.
  init?(startOf bytes: UnsafeRawBufferPointer) {
    let length = Self.length(bytes)
    guard length >= Self.headLength, length <= bytes.count, length % 8 == 0 else { return nil }
    self.bytes = UnsafeRawBufferPointer(rebasing: bytes[..<length])
    guard Self.head(self.bytes) == bytes.loadUnaligned(as: UInt64.self) else { return nil }
  }

  /// As the line's own start says; 0 where there is none.
  static func length(_ bytes: UnsafeRawBufferPointer) -> Int {
    bytes.count < headLength ? 0 : Int(bytes.loadUnaligned(as: UInt32.self))
  }

  private static func head(_ line: UnsafeRawBufferPointer) -> UInt64 {
    var sum = format
    var place = headLength
    while place < line.count {
      sum = (sum ^ line.loadUnaligned(fromByteOffset: place, as: UInt64.self)) &* 0x9E37_79B9_7F4A_7C15
      sum ^= sum >> 29
      place += 8
    }
    return sum & ~0xFFFF_FFFF | UInt64(line.count)
  }

  // MARK: Writing

  /// Writes the line of a row, and returns its length; nil if the bytes, from a multiple of eight on, are too few. The
  /// head, which marks it as whole, comes last, also for other processes that see this memory.
  static func write(_ row: CacheRow, into bytes: UnsafeMutableRawBufferPointer) -> Int? {
    var line = Writer(bytes: bytes, count: headLength)
    row.read { fields in
      for column in RowColumn.all.dropLast() {
        switch fields.value(column) {
        case .text(nil), .number(nil): line.append(nil)
        case .number(let number?): withUnsafeBytes(of: number) { line.append($0) }
        case .text(var text?): text.withUTF8 { line.append(UnsafeRawBufferPointer($0)) }
        }
      }
    }
    let length = (line.count + 7) & ~7
    guard length <= bytes.count else { return nil }
    for place in line.count..<length { bytes[place] = 0 }
    write(row.changed, into: bytes)
    let head = head(UnsafeRawBufferPointer(rebasing: bytes[..<length]))
    let start = bytes.baseAddress?.bindMemory(to: Atomic<UInt64>.self, capacity: 1)
    start?.pointee.store(head, ordering: .releasing)
    return length
  }

  static func write(_ changed: ChangeTime, into line: UnsafeMutableRawBufferPointer) {
    line.storeBytes(of: changed.number, toByteOffset: placeOfChange, as: Int64.self)
  }

  private struct Writer {
    let bytes: UnsafeMutableRawBufferPointer
    /// Bytes of the line so far, also where there was no room for them.
    var count: Int

    mutating func append(_ field: UnsafeRawBufferPointer?) {
      let start = count + 4
      defer { count = start + (field?.count ?? 0) }
      guard start + (field?.count ?? 0) <= bytes.count else { return }
      bytes.storeBytes(of: Int32(field?.count ?? -1), toByteOffset: count, as: Int32.self)
      if let field { UnsafeMutableRawBufferPointer(rebasing: bytes[start...]).copyMemory(from: field) }
    }
  }

  // MARK: Reading

  /// Calls `body` with the lines of a journal, oldest first; what is no line is passed over.
  static func forEach(in journal: [UInt8], _ body: (JournalLine) throws -> Void) rethrows {
    try journal.withUnsafeBytes { journal in
      var place = 0
      while place < journal.count {
        let line = JournalLine(startOf: UnsafeRawBufferPointer(rebasing: journal[place...]))
        if let line { try body(line) }
        place += line?.bytes.count ?? 8
      }
    }
  }

  var row: CacheRow? {
    var fields = Fields(fields: [], changed: changed)
    fields.fields.reserveCapacity(RowColumn.all.count)
    forEachField { fields.fields.append($1) }
    return try? CacheRow(from: &fields)
  }

  private var changed: Int64 { bytes.loadUnaligned(fromByteOffset: Self.placeOfChange, as: Int64.self) }

  private func forEachField<Failure>(
    _ body: (RowColumn, UnsafeRawBufferPointer?) throws(Failure) -> Void
  ) throws(Failure) {
    var place = Self.headLength
    for column in RowColumn.all.dropLast() where place + 4 <= bytes.count {
      let count = Int(bytes.loadUnaligned(fromByteOffset: place, as: Int32.self))
      place += 4
      guard count >= 0, count <= bytes.count - place else {
        try body(column, nil)
        continue
      }
      try body(column, UnsafeRawBufferPointer(rebasing: bytes[place..<(place + count)]))
      place += count
    }
  }

  private static func number(_ field: UnsafeRawBufferPointer) -> Int64? {
    field.count == 8 ? field.loadUnaligned(as: Int64.self) : nil
  }

  private struct Fields: RowSource {
    var fields: [UnsafeRawBufferPointer?]
    let changed: Int64

    private func field(_ column: RowColumn) -> UnsafeRawBufferPointer? {
      column.rawValue < fields.count ? fields[column.rawValue] : nil
    }

    func text(_ column: RowColumn) -> String? { field(column).map { String(utf8: $0) } }

    func number(_ column: RowColumn) throws(NoRow) -> Int64? {
      if column == .changed { return changed }
      guard let field = field(column) else { return nil }
      guard let number = JournalLine.number(field) else { throw NoRow() }
      return number
    }
  }

  // MARK: Storing

  /// Stores the row by `CacheSchema.insert`. Its texts stay in place until then, so that SQLite need not copy them.
  func insert(by statement: Statement) throws(DatabaseError) {
    // What is not bound is NULL.
    defer { statement.reset() }
    try forEachField { column, field throws(DatabaseError) in
      guard let field else { return }
      if column.isNumber {
        if let number = Self.number(field) { try statement.bind(number, column.position) }
      } else {
        try statement.bindInPlace(field, column.position)
      }
    }
    try statement.bind(changed, RowColumn.changed.position)
    _ = try statement.step()
  }
}
