import DownloadModel
import FileReceiving

extension CacheRow.Fields {
  /// The values of all columns but `changed`.
  @inline(__always)
  func value(_ column: RowColumn) -> Statement.Value {
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
  /// - Parameter key: the row's, if it is known.
  init(from source: inout RowReader, key: RowKey? = nil) throws {
    func text(_ column: RowColumn) throws -> String {
      guard let text = try source.text(column) else { throw RowReader.NoRow() }
      return text
    }
    func number(_ column: RowColumn) throws -> Int64 {
      guard let number = try source.number(column) else { throw RowReader.NoRow() }
      return number
    }
    let name = try text(.name)
    let wanted = try text(.wanted)
    try self.init(
      key: key ?? RowKey(address: text(.address), directory: text(.directory), requested: text(.requested)),
      name: name, wanted: FileNaming.areSame(name, wanted) ? name : wanted,
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

extension Connection {
  func rows(_ sql: String, _ values: [Statement.Value]) throws -> [CacheRow] { try rows(sql, values) { $0 } }

  func rows<Value>(_ sql: String, _ values: [Statement.Value], _ read: (CacheRow) -> Value) throws -> [Value] {
    var reader = RowReader(try statement(sql))
    return try statement(sql).rows(values) { _ in read(try CacheRow(from: &reader)) }
  }
}

extension Statement {
  /// Stores a row by `CacheSchema.insert`.
  func insert(_ row: CacheRow) throws(Connection.Failure) {
    defer { reset() }
    try row.read { fields throws(Connection.Failure) in
      for column in RowColumn.all { try bind(fields.value(column), column.position) }
    }
    try bind(.number(row.changed.number), RowColumn.changed.position)
    _ = try step()
  }
}

extension RowKey {
  var values: [Statement.Value] { [.text(address), .text(directory), .text(requested)] }
}
