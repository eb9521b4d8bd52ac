import DownloadModel
import FileReceiving

/// Reads the columns of a row; `nil` for NULL.
struct RowReader {
  /// A value of another type than its column's. dlm never wrote it.
  struct NoRow: Error {}

  private let statement: Statement
  /// The last text of each column, because rows often repeat a text of the row before.
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
