import DownloadModel
import FileReceiving

/// Rows of finished files that SQLite does not have yet: lines of a journal, and which of them count. As values, ten
/// thousand rows would be a hundred thousand texts in memory.
final class RowBatch {
  let journal: CommitJournal
  /// Where the lines that count begin, in order; both of a request that was answered twice.
  private(set) var places: [Int] = []
  /// The last line of each request, by the hash of its key.
  private var placeOfKey: [Int: Int] = [:]
  private var last: (row: CacheRow, place: Int)?

  /// SQLite's cost grows with transactions, memory with rows; at 512 neither matters.
  static let limit = 512

  init(_ journal: CommitJournal) {
    self.journal = journal
    placeOfKey.reserveCapacity(Self.limit)
  }

  var isFull: Bool { places.count >= Self.limit }

  /// Writes a row's line, which does not count before the file has its name.
  func append(_ row: CacheRow) { last = journal.append(row).map { (row, $0) } }

  /// Counts a row. Writes its line, unless it was the last one written, where at most the time of change differs.
  func add(_ row: CacheRow) {
    if let last, last.row.isSame(butForChange: row) {
      if last.row.changed != row.changed { journal.note(row.changed, at: last.place) }
    } else {
      append(row)
    }
    guard let place = last?.place else { return }
    places.append(place)
    placeOfKey[row.key.hashValue] = place
  }

  subscript(key: RowKey) -> CacheRow? {
    // Where two keys have one hash, the row of one is not found: then its server is asked.
    placeOfKey[key.hashValue].flatMap { journal.row(at: $0) }.flatMap { $0.key == key ? $0 : nil }
  }
}
