/// Rows of finished files on their way to SQLite, with the journal that stands for them until they are there.
struct RowBatch: Sendable {
  private(set) var rows: [RowKey: CacheRow] = [:]
  /// Nil until the first line, and where no journal can be written.
  var journal: CommitJournal?

  /// SQLite costs by the transaction, memory by the row; at 512 neither is felt.
  static let limit = 512

  var isEmpty: Bool { rows.isEmpty }
  var isFull: Bool { rows.count >= Self.limit }

  mutating func add(_ row: CacheRow) { rows[row.key] = row }

  subscript(key: RowKey) -> CacheRow? { rows[key] }
}
