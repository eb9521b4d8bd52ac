/// The columns of a row, in this order, from which schema and statements are made. A `CodingKey` has its name as
/// `stringValue`; for an interpolated case, the runtime searches all conformances several times at each start.
enum RowColumn: Int, CaseIterable, CodingKey {
  // The key, by which rows are sorted.
  case address, directory, requested
  case trust, name, wanted, device, inode, size, modified, etag, lastModified, date, fetchedAt
  case cacheControl, expires, age, vary, answeredBy, digest, selection, usedAt, status, sum
  /// Last, because it is known last.
  case changed

  static let all = Array(allCases)
  static let key = all[..<trust.rawValue]

  var isNumber: Bool {
    switch self {
    case .device, .inode, .size, .modified, .fetchedAt, .usedAt, .status, .changed: true
    default: false
    }
  }

  var definition: String { "\(stringValue) \(isNumber ? "INTEGER" : "TEXT")" }

  /// The number of the column in a result; `position` is that of the parameter in a statement.
  var place: CInt { CInt(rawValue) }
  var position: CInt { place + 1 }
}
