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

extension CacheRow.Fields {
  /// Of all columns but `changed`.
  @inline(__always)
  func value(_ column: RowColumn) -> RowColumn.Value {
    switch column {
    case .address: .text(key.address)
    case .directory: .text(key.directory)
    case .requested: .text(key.requested)
    case .trust: .text(trust.text)
    case .name: .text(name)
    case .wanted: .text(wanted)
    case .device: .number(identity.device)
    case .inode: .number(identity.inode)
    case .size: .number(identity.size)
    case .modified: .number(identity.modified)
    case .etag: .text(validator.etag)
    case .lastModified: .text(validator.lastModified)
    case .date: .text(validator.date)
    case .fetchedAt: .number(fetchedAt)
    case .cacheControl: .text(freshness.cacheControl)
    case .expires: .text(freshness.expires)
    case .age: .text(freshness.age)
    case .vary: .text(freshness.vary)
    case .answeredBy: .text(effectiveURL)
    case .digest: .text(digest)
    case .selection: .text(selection)
    case .usedAt: .number(usedAt)
    case .status: .number(status.map(Int64.init))
    case .sum: .text(sum)
    case .changed: .number(nil)
    }
  }
}

extension CacheRow {
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
      try RowKey(address: text(.address), directory: text(.directory), requested: text(.requested))
    }
    let rowKey = if let key { key } else { try readKey() }
    let name = try text(.name)
    let wanted = try text(.wanted)
    try self.init(
      key: rowKey, name: name, wanted: FileNaming.areSame(name, wanted) ? name : wanted,
      identity: FileIdentity(
        device: number(.device), inode: number(.inode), size: number(.size),
        modified: number(.modified)), changed: ChangeTime(number: number(.changed)),
      validator: Validator(
        etag: source.text(.etag), lastModified: source.text(.lastModified), date: source.text(.date)),
      fetchedAt: number(.fetchedAt), usedAt: number(.usedAt),
      status: source.number(.status).map(Int.init),
      freshness: FreshnessFields(
        cacheControl: source.text(.cacheControl), expires: source.text(.expires),
        age: source.text(.age), vary: source.text(.vary)),
      effectiveURL: source.text(.answeredBy), trust: TrustMark(text: text(.trust)),
      selection: source.text(.selection), digest: source.text(.digest), sum: source.text(.sum))
  }
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
    let text = String(utf8: utf8)
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
