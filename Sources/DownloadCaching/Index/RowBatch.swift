import FileReceiving

/// Rows of finished files that SQLite does not have yet, and the claims that end when it has them.
struct RowBatch {
  private(set) var rows: [CacheRow] = []
  /// Claims of the requests for these files, for `ProcessClaims.release`.
  private(set) var claims: [Int] = []
  /// The position of each request's last row.
  private var positions: [RowKey: Int] = [:]

  /// SQLite's cost grows with transactions, memory with rows; at 512 neither matters.
  static let limit = 512

  var isFull: Bool { rows.count >= Self.limit }

  mutating func add(_ row: CacheRow) {
    positions[row.key] = rows.count
    rows.append(row)
  }

  /// Empties the batch.
  mutating func take() -> RowBatch {
    defer { self = RowBatch() }
    return self
  }

  mutating func keep(claim: Int) { claims.append(claim) }

  subscript(key: RowKey) -> CacheRow? {
    guard let row = positions[key].map({ rows[$0] }), row.key == key else { return nil }
    return row
  }
}
