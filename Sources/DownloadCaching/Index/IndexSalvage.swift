import DownloadModel
import GRDB
import Glibc
import SystemPackage

/// Reads what is left of the rows in an index that SQLite refuses, without SQLite: page by page, so that a
/// page that is broken costs its own rows and no others.
///
/// The table has no rowid, so SQLite keeps its rows in the pages of an index (fileformat2.html §1.6 and
/// §2.1), in leaves (0x0A) and in what stands above them (0x02):
///
///     page    │ type │ … │ count of cells (3..4) │ … │ offsets of cells (8.., 12.. above leaves) │ … cells
///     cell    │ (child, 4 bytes) │ length, a varint │ record, or its beginning │ (next page, 4 bytes)
///     record  │ length of the head │ a type for each column │ their values
///     log     │ head (32 bytes) │ page's number, … (24 bytes) │ page │ …
///
/// Such pages also stand in the log (`-wal`), in several versions, and in free space. So nothing that is read
/// here is believed: a row counts only if its file stands there as the row says, by device, inode, length and
/// time. What the file cannot vouch for may have been hit by the damage: so a row loses what would let it be
/// used without asking its server (`doubted`).
struct IndexSalvage {
  /// What was found.
  struct Count: Sendable, Equatable {
    /// Files of which a row could be read.
    var found = 0
    /// Those among them that stand there as they were written.
    var kept = 0
  }

  private let staging: Staging
  private var seen: Set<Int> = []
  private(set) var count = Count()

  init() throws { staging = try Staging() }

  /// Passes rows to `body` that count, the newest version of one last.
  /// - Parameters:
  ///   - database: the index, or half of one.
  ///   - log: its `-wal`; a closed descriptor for none.
  mutating func read(
    _ database: borrowing Descriptor, log: borrowing Descriptor, _ body: ([CacheRow]) throws -> Void
  ) throws {
    let pages = try Pages(database, log: log)
    for number in 0..<pages.count {
      let records = try pages.cells(number, database, log: log)
      if !records.isEmpty { try take(try staging.rows(records), body) }
    }
  }

  /// The same for rows that SQLite could read.
  mutating func take(_ rows: [CacheRow], _ body: ([CacheRow]) throws -> Void) throws {
    let sane = rows.filter { Self.isSane($0) }
    for row in sane where seen.insert(row.key.number).inserted { count.found += 1 }
    let intact = sane.filter(\.isIntact)
    if !intact.isEmpty { try body(intact.map { Self.doubted($0) }) }
  }

  /// How many rows were taken over in the end.
  mutating func keep(_ kept: Int) { count.kept = kept }

  private static func isSane(_ row: CacheRow) -> Bool {
    row.key.directory.utf8.first == UInt8(ascii: "/") && !row.name.isEmpty && row.identity.isRegularFile
      && (try? Address(row.key.address).key) == row.key.address
  }

  /// The row without what nobody could vouch for any more. It is asked about once, and the answer renews it.
  private static func doubted(_ row: CacheRow) -> CacheRow {
    var row = row
    row.freshness = FreshnessFields(vary: row.freshness.vary)
    row.validator = row.validator.fitForHeaders
    // A date is confirmed for any older file: so address and name must at least agree on which file it is.
    if row.validator.etag == nil, let address = try? Address(row.key.address),
      row.wanted != FileNaming.name(of: address), row.wanted != row.key.requested
    {
      row.validator = Validator()
    }
    return row
  }
}

/// The pages of a database and then those of its log, numbered from 0.
private struct Pages {
  private let size: Int
  /// Bytes of a page that hold something.
  private let usable: Int
  private let inDatabase: Int
  private let inLog: Int
  /// By page number: its last version in the log.
  private var newest: [Int: Int] = [:]

  private static let logHead = 32
  private static let frameHead = 24
  /// No row is nearly so long.
  private static let longest = 1 << 20

  var count: Int { inDatabase + inLog }

  init(_ database: borrowing Descriptor, log: borrowing Descriptor) throws(Errno) {
    let head = database.isOpen ? try database.read(100) : []
    let logHead = log.isOpen ? try log.read(Self.logHead) : []
    let stated = head.count == 100 ? Int(head[16]) << 8 | Int(head[17]) : 0
    let logged = logHead.count == Self.logHead ? Int(Self.number(logHead[8..<12])) : 0
    // A head that makes no sense: then as dlm makes them.
    size = [stated == 1 ? 65_536 : stated, logged].first { $0 >= 512 && $0.nonzeroBitCount == 1 } ?? 4096
    let isHead = head.count == 100 && head.starts(with: "SQLite format 3\0".utf8)
    usable = size - (isHead && head[20] < 64 ? Int(head[20]) : 0)
    // The last page may be cut short: what it holds is read like any other.
    inDatabase = database.isOpen ? (Int(try database.identity().size) + size - 1) / size : 0
    inLog = log.isOpen ? max(0, Int(try log.identity().size) - Self.logHead) / (size + Self.frameHead) : 0
    for frame in 0..<inLog {
      let offset = Self.logHead + frame * (size + Self.frameHead)
      newest[Int(Self.number(try log.read(4, at: Int64(offset))[...]))] = frame
    }
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    bytes.reduce(0) { $0 << 8 | UInt32($1) }
  }

  private func page(
    _ index: Int, _ database: borrowing Descriptor, log: borrowing Descriptor
  ) throws(Errno) -> [UInt8] {
    var page: [UInt8]
    do throws(Errno) {
      if index < inDatabase {
        page = try database.read(size, at: Int64(index * size))
      } else {
        let frame = Self.logHead + (index - inDatabase) * (size + Self.frameHead) + Self.frameHead
        page = try log.read(size, at: Int64(frame))
      }
    } catch .ioError {
      page = []  // a disk that cannot read one page may read the others
    }
    page += [UInt8](repeating: 0, count: size - page.count)
    return page
  }

  /// The records in a page, whatever they are of; none in a page that holds none.
  func cells(
    _ index: Int, _ database: borrowing Descriptor, log: borrowing Descriptor
  ) throws(Errno) -> [Record] {
    let page = try page(index, database, log: log)
    let isLeaf = page[0] == 0x0A
    guard isLeaf || page[0] == 0x02 else { return [] }
    let start = isLeaf ? 8 : 12
    let count = min(Int(Self.number(page[3..<5])), (size - start) / 2)
    var records: [Record] = []
    for cell in 0..<count {
      let place = start + cell * 2
      var offset = Int(Self.number(page[place..<(place + 2)])) + (isLeaf ? 0 : 4)
      guard let length = Varint.read(page, &offset), length > 0, length <= Self.longest,
        let payload = try payload(length, page, offset, index, database, log: log)
      else { continue }
      if let record = Record(payload) { records.append(record) }
    }
    return records
  }

  /// A record's bytes, with what did not fit into its page (fileformat2.html §1.6, "overflow").
  private func payload(
    _ length: Int, _ page: [UInt8], _ offset: Int, _ index: Int, _ database: borrowing Descriptor,
    log: borrowing Descriptor
  ) throws(Errno) -> [UInt8]? {
    let most = (usable - 12) * 64 / 255 - 23
    if length <= most { return offset + length <= size ? Array(page[offset..<(offset + length)]) : nil }
    let least = (usable - 12) * 32 / 255 - 23
    let wanted = least + (length - least) % (usable - 4)
    let local = wanted <= most ? wanted : least
    guard offset + local + 4 <= size else { return nil }
    var bytes = Array(page[offset..<(offset + local)])
    var next = Int(Self.number(page[(offset + local)..<(offset + local + 4)]))
    while bytes.count < length {
      // Page numbers count from 1. A record from the log goes on in the log, where that has the page.
      let place = index >= inDatabase ? newest[next].map { inDatabase + $0 } ?? next - 1 : next - 1
      guard next > 0, place < count else { return nil }
      let more = try self.page(place, database, log: log)
      bytes += more[4..<min(usable, 4 + length - bytes.count)]
      next = Int(Self.number(more[0..<4]))
    }
    return bytes
  }
}

private enum Varint {
  /// - Returns: nil behind the end.
  static func read(_ bytes: [UInt8], _ offset: inout Int) -> Int? {
    var value: UInt64 = 0
    for number in 0..<9 {
      guard offset < bytes.count else { return nil }
      let byte = bytes[offset]
      offset += 1
      if number == 8 { return Int(truncatingIfNeeded: value << 8 | UInt64(byte)) }
      value = value << 7 | UInt64(byte & 0x7F)
      if byte & 0x80 == 0 { break }
    }
    return Int(truncatingIfNeeded: value)
  }
}

/// The values of one record, as it was stored.
private struct Record {
  let values: [DatabaseValue]

  /// - Returns: nil if the bytes are no record, or hold a text that is none.
  init?(_ bytes: [UInt8]) {
    var place = 0
    guard let head = Varint.read(bytes, &place), head >= place, head <= bytes.count else { return nil }
    var offset = head
    var values: [DatabaseValue] = []
    while place < head {
      guard let type = Varint.read(bytes, &place), let value = Self.value(type, bytes, &offset) else {
        return nil
      }
      values.append(value)
    }
    self.values = values
  }

  private static func value(_ type: Int, _ bytes: [UInt8], _ offset: inout Int) -> DatabaseValue? {
    let lengths = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0]
    guard type >= 0, type != 10, type != 11 else { return nil }
    let length = type < 10 ? lengths[type] : (type - 12) / 2
    guard length <= bytes.count - offset else { return nil }
    let field = bytes[offset..<(offset + length)]
    offset += length
    switch type {
    case 0: return .null
    case 1...6:
      let start: Int64 = (field.first ?? 0) & 0x80 == 0 ? 0 : -1
      return field.reduce(start) { $0 << 8 | Int64($1) }.databaseValue
    case 8, 9: return Int64(type - 8).databaseValue
    // Neither numbers with a fraction nor blobs are in any row.
    case 7: return nil
    default: return type.isMultiple(of: 2) ? nil : String(validating: field, as: UTF8.self)?.databaseValue
    }
  }
}

/// From values in the order in which SQLite stores them to rows: a table without a key, of the columns of
/// this version.
private struct Staging {
  private let database: DatabaseQueue
  /// In the order in which they are stored: those of the key, then the others.
  private let columns: [String]

  init() throws {
    database = try DatabaseQueue()
    try CacheSchema.migrator.migrate(database)
    columns = try database.write { database in
      let all = try Row.fetchAll(database, sql: "SELECT name, dflt_value, pk FROM pragma_table_info('file')")
      let key = all.filter { Self.place($0) > 0 }.sorted { Self.place($0) < Self.place($1) }
      let stored = key + all.filter { Self.place($0) == 0 }
      let definitions = stored.map { row in
        "\(row["name"] as String)" + ((row["dflt_value"] as String?).map { " DEFAULT \($0)" } ?? "")
      }
      try database.execute(sql: "CREATE TEMP TABLE staged (\(definitions.joined(separator: ", ")))")
      return stored.map { $0["name"] }
    }
  }

  /// A column's place in the key, from 1; 0 for one that is not of the key.
  private static func place(_ column: Row) -> Int { column["pk"] }

  /// The rows among some records. One of an earlier version lacks the last columns, one of a later version
  /// has more.
  func rows(_ records: [Record]) throws -> [CacheRow] {
    try database.write { database in
      for record in records where record.values.count > 4 {
        let names = columns.prefix(record.values.count)
        let places = [String](repeating: "?", count: names.count).joined(separator: ",")
        let statement = try database.cachedStatement(
          sql: "INSERT INTO staged (\(names.joined(separator: ","))) VALUES (\(places))")
        try statement.execute(arguments: StatementArguments(record.values.prefix(names.count)))
      }
      let rows = try Row.fetchAll(database, sql: "SELECT \(CacheSchema.columns) FROM staged")
      try database.execute(sql: "DELETE FROM staged")
      // What is of another type than a row's is of another table, or damaged.
      return rows.compactMap { try? CacheRow(row: $0) }
    }
  }
}
