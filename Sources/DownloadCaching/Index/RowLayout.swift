import DownloadModel

/// The columns of a row, in the order of the index's table and of the fields in a journal's line. Schema, statements
/// and lines are made by this one list.
enum RowColumn: Int, CaseIterable, Sendable {
  // The key, by which rows are sorted.
  case address, directory, requested
  case trust, name, wanted, device, inode, size, modified, etag, lastModified, date, fetchedAt
  case cacheControl, expires, age, vary, answeredBy, digest, selection, usedAt, status, sum
  /// Last, because a journal's line has it written over when the file has its name.
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

  private var mayBeNull: Bool {
    switch self {
    case .etag, .lastModified, .date, .cacheControl, .expires, .age, .vary, .answeredBy, .digest, .selection,
      .status, .sum:
      true
    default: false
    }
  }

  /// Of the table.
  var definition: String { "\(self) \(isNumber ? "INTEGER" : "TEXT")\(mayBeNull ? "" : " NOT NULL")" }
}

/// Where the columns of a row are read.
protocol RowSource {
  /// Nil for nothing.
  mutating func text(_ column: RowColumn) throws(NoRow) -> String?
  /// Nil for nothing.
  mutating func number(_ column: RowColumn) throws(NoRow) -> Int64?
}

/// A value of another type than its column's, which dlm never wrote.
struct NoRow: Error {}

extension CacheRow {
  /// What stands in a column.
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
    let rowKey =
      if let key {
        key
      } else {
        RowKey(address: try text(.address), directory: try text(.directory), requested: try text(.requested))
      }
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
