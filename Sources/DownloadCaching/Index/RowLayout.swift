import DownloadModel
import FileReceiving

/// The columns of a row, of which schema, statements and journal lines are made, in this order. A `CodingKey` has its
/// name as `stringValue`; for an interpolated case, the runtime searches all conformances several times at each start.
enum RowColumn: Int, CaseIterable, CodingKey {
  // The key, by which rows are sorted.
  case address, directory, requested
  case trust, name, wanted, device, inode, size, modified, etag, lastModified, date, fetchedAt
  case cacheControl, expires, age, vary, answeredBy, digest, selection, usedAt, status, sum
  /// Last, because it is known last.
  case changed

  static let all = Array(allCases)
  static let key = all[..<trust.rawValue]

  enum Value {
    case text(String?)
    case number(Int64?)
  }

  var isNumber: Bool {
    switch self {
    case .device, .inode, .size, .modified, .fetchedAt, .usedAt, .status, .changed: true
    default: false
    }
  }

  var definition: String { "\(stringValue) \(isNumber ? "INTEGER" : "TEXT")" }

  /// As a column that SQLite gives, and as a parameter that it takes.
  var place: CInt { CInt(rawValue) }
  var position: CInt { place + 1 }
}

/// Where the columns of a row are read; nil for nothing.
protocol RowSource {
  mutating func text(_ column: RowColumn) throws(NoRow) -> String?
  mutating func number(_ column: RowColumn) throws(NoRow) -> Int64?
}

/// A value of another type than its column's, which dlm never wrote.
struct NoRow: Error {}

extension CacheRow {
  @inline(__always)
  func value(_ column: RowColumn) -> RowColumn.Value {
    switch column {
    case .address: .text(self.key.address)
    case .directory: .text(self.key.directory)
    case .requested: .text(self.key.requested)
    case .trust: .text(self.trust.text)
    case .name: .text(self.name)
    case .wanted: .text(self.wanted)
    case .device: .number(self.identity.device)
    case .inode: .number(self.identity.inode)
    case .size: .number(self.identity.size)
    case .modified: .number(self.identity.modified)
    case .etag: .text(self.validator.etag)
    case .lastModified: .text(self.validator.lastModified)
    case .date: .text(self.validator.date)
    case .fetchedAt: .number(self.fetchedAt)
    case .cacheControl: .text(self.freshness.cacheControl)
    case .expires: .text(self.freshness.expires)
    case .age: .text(self.freshness.age)
    case .vary: .text(self.freshness.vary)
    case .answeredBy: .text(self.effectiveURL)
    case .digest: .text(self.digest)
    case .selection: .text(self.selection)
    case .usedAt: .number(self.usedAt)
    case .status: .number(self.status.map { Int64($0) })
    case .sum: .text(self.sum)
    case .changed: .number(self.changed.number)
    }
  }

  /// - Parameter key: the row's, where it is known.
  init(from source: inout some RowSource, key: RowKey? = nil) throws(NoRow) {
    func text(_ column: RowColumn) throws(NoRow) -> String {
      guard let text = try source.text(column) else { throw NoRow() }
      return text
    }
    func number(_ column: RowColumn) throws(NoRow) -> Int64 {
      guard let number = try source.number(column) else { throw NoRow() }
      return number
    }
    func readKey() throws(NoRow) -> RowKey {
      RowKey(address: try text(.address), directory: try text(.directory), requested: try text(.requested))
    }
    let rowKey = if let key { key } else { try readKey() }
    let (name, wanted) = (try text(.name), try text(.wanted))
    self.init(
      key: rowKey, name: name, wanted: name == wanted ? name : wanted,
      identity: FileIdentity(
        device: try number(.device), inode: try number(.inode), size: try number(.size),
        modified: try number(.modified)), changed: ChangeTime(number: try number(.changed)),
      validator: Validator(
        etag: try source.text(.etag), lastModified: try source.text(.lastModified), date: try source.text(.date)),
      fetchedAt: try number(.fetchedAt), usedAt: try number(.usedAt),
      status: try source.number(.status).map { Int($0) },
      freshness: FreshnessFields(
        cacheControl: try source.text(.cacheControl), expires: try source.text(.expires),
        age: try source.text(.age), vary: try source.text(.vary)),
      effectiveURL: try source.text(.answeredBy), trust: TrustMark(text: try text(.trust)),
      selection: try source.text(.selection), digest: try source.text(.digest), sum: try source.text(.sum))
  }
}

enum CacheSchema {
  /// Changes with the table. An index of another format is set aside.
  static let format: Int64 = 1

  /// Rows of one address are neighbours. The index `stored` is of the store's files alone.
  static let tables = """
    CREATE TABLE file (
      \(RowColumn.all.map(\.definition).joined(separator: ", ")),
      PRIMARY KEY (\(names(RowColumn.key)))
    ) WITHOUT ROWID;
    CREATE INDEX stored ON file (usedAt, size) WHERE \(isStored);
    PRAGMA user_version = \(format)
    """

  private static func names(_ columns: some Sequence<RowColumn>) -> String {
    columns.map(\.stringValue).joined(separator: ", ")
  }

  private static let columns = names(RowColumn.all)
  private static let select = "SELECT \(columns) FROM file"
  /// Of a file of the cache's own store (`RowKey.stored`).
  private static let isStored = "requested = '/'"
  private static let isUsers = "requested <> '/'"
  private static let isOfKey = "address = ? AND directory = ? AND requested = ?"

  static let insert = "INSERT OR REPLACE INTO file VALUES (\(RowColumn.all.map { _ in "?" }.joined(separator: ", ")))"

  /// The row of the key first, then that of the store, so that it is found among many, then the youngest.
  static let lookup = """
    \(select) WHERE address = ?
    ORDER BY (directory = ? AND requested = ?) DESC, (\(isStored)) DESC, fetchedAt DESC LIMIT 8
    """

  /// At most one row more than `IndexReader` takes, and whether it is that of the key.
  static let rowsOfAddress =
    "SELECT \(columns), directory = ?2 AND requested = ?3 FROM file WHERE address = ?1 LIMIT 10"

  /// The row of a key. Without the plus sign, SQLite would plan the statement anew for each value (`stored`).
  static let ownRow = "\(select) WHERE address = ? AND directory = ? AND +requested = ?"

  static let sizeOfAddress = "SELECT size FROM file WHERE address = ? ORDER BY fetchedAt DESC LIMIT 1"

  /// Without the store's files for `ofUsers`.
  static func page(ofUsers: Bool) -> String {
    """
    \(select) WHERE (address, directory, requested) > (?, ?, ?) \(ofUsers ? "AND \(isUsers)" : "")
    ORDER BY address, directory, requested LIMIT ?
    """
  }

  static let ofAddress = "\(select) WHERE address = ? ORDER BY directory, requested"

  /// A size within bounds, as `CacheRow` has it.
  private static let size = "MAX(0, MIN(size, \(CacheRow.sizes.upperBound)))"

  static let figures = "SELECT COUNT(*), COALESCE(SUM(\(size)), 0) FROM file WHERE \(isUsers)"

  static let count = "SELECT COUNT(*) FROM file"

  static let usedBytes = """
    SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size
    """

  static let directories = "SELECT DISTINCT directory FROM file"

  static let inFolder = "\(select) WHERE directory = ?"

  static let delete = "DELETE FROM file WHERE \(isOfKey)"

  static let deleteIfSame = "\(delete) AND device = ? AND inode = ?"

  static let byUse = "\(select) ORDER BY usedAt LIMIT ?"

  static let noteChange = """
    UPDATE file SET changed = ? WHERE address = ? AND device = ? AND inode = ? AND size = ? AND modified = ?
    """

  // MARK: The store's files

  static let storedRow = "\(select) WHERE address = ? AND \(isStored)"

  static let storedNames = "SELECT name FROM file WHERE \(isStored)"

  /// As `StoreBound.cost` counts.
  static let storedTotal = "SELECT COALESCE(SUM((\(size) + 4095) / 4096 * 4096), 0) FROM file WHERE \(isStored)"

  static let storedByUse = "\(select) WHERE \(isStored) ORDER BY usedAt LIMIT ?"
}

struct RowReader: RowSource {
  private let statement: Statement
  /// Of each column, since texts of the row before often come again.
  private var lastTexts = [String?](repeating: nil, count: RowColumn.all.count)

  init(_ statement: Statement) { self.statement = statement }

  mutating func text(_ column: RowColumn) throws(NoRow) -> String? {
    if statement.isNull(column.place) { return nil }
    guard let utf8 = statement.utf8(column.place) else { throw NoRow() }
    if var last = lastTexts[column.rawValue], last.withUTF8({ FileNaming.areSame($0, utf8) }) { return last }
    let text = String(decoding: utf8, as: UTF8.self)
    lastTexts[column.rawValue] = text
    return text
  }

  func number(_ column: RowColumn) throws(NoRow) -> Int64? {
    if statement.isNull(column.place) { return nil }
    guard let number = statement.number(column.place) else { throw NoRow() }
    return number
  }
}

extension Connection {
  func rows(_ sql: String, _ values: [Statement.Value] = []) throws -> [CacheRow] { try rows(sql, values) { $0 } }

  func rows<Value>(_ sql: String, _ values: [Statement.Value], _ read: (CacheRow) -> Value) throws -> [Value] {
    var reader = RowReader(try statement(sql))
    return try statement(sql).rows(values) { _ in read(try CacheRow(from: &reader)) }
  }
}

extension RowKey {
  var values: [Statement.Value] { [.text(address), .text(directory), .text(requested)] }
}
