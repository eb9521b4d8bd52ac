import DownloadModel
import SystemPackage

/// The rows of the store's files, and the bounds of store and index.
extension CacheIndex {
  /// What an eviction came to.
  struct Evicted: Sendable, Equatable {
    var entries = 0
    /// Bytes that their files took.
    var bytes: Int64 = 0
    /// What the entries that are left count.
    var rest: Int64 = 0
    /// Whether the bound is kept.
    var isDone = true
  }

  /// So many entries go at a time: other questions need not wait longer for this actor.
  private static let evictedAtOnce = 256

  /// Removes those entries of the store that were used least recently, as far as it holds more than its bound.
  ///
  /// Files go before their rows, so that a kill leaves rows without files, which are not served and go first next time.
  /// A row is only dropped with the file that it was read for: another process may have written that address's entry
  /// anew.
  /// - Returns: nil where the index cannot be used.
  func evict(from store: FileStore, to bound: Int64) -> Evicted? {
    noting { connection in
      let (total, oldest) = try connection.look {
        let total = try connection.number(CacheSchema.storedTotal) ?? 0
        guard total > bound else { return (total, [CacheRow]()) }
        return (total, try connection.rows(CacheSchema.storedByUse, [.number(Int64(Self.evictedAtOnce))]))
      }
      var evicted = Evicted(rest: total)
      let victims = oldest.prefix(StoreBound.evicted(oldest.lazy.map(\.identity.size), total: total, bound: bound))
      guard !victims.isEmpty else { return evicted }
      evicted.bytes = try remove(victims, from: store)
      evicted.entries = victims.count
      evicted.rest -= victims.reduce(0) { $0 + StoreBound.cost(of: $1.identity.size) }
      evicted.isDone = evicted.rest <= StoreBound.rest(of: bound) || oldest.count < Self.evictedAtOnce
      return evicted
    }
  }

  private func remove(_ rows: some Collection<CacheRow>, from store: FileStore) throws -> Int64 {
    var bytes: Int64 = 0
    var changed: [CacheRow] = []
    for var row in rows where row.key.isStored {
      bytes += try store.remove(row) { time in
        row.changed = time
        changed.append(row)
      }
    }
    try drop(rows)
    noteChange(changed)
    return bytes
  }

  /// Notes when the files of some rows were last changed, in all rows of theirs: the store gave them a further name, or
  /// took it.
  func noteChange(_ rows: [CacheRow]) {
    guard !rows.isEmpty else { return }
    noting { connection in
      try connection.write {
        let statement = try connection.statement(CacheSchema.noteChange)
        for row in rows {
          try statement.execute([
            .number(row.changed.number), .text(row.key.address), .number(row.identity.device),
            .number(row.identity.inode), .number(row.identity.size), .number(row.identity.modified),
          ])
        }
      }
    }
  }

  private func drop(_ rows: some Collection<CacheRow>) throws {
    _ = noting { connection in
      try connection.write {
        let statement = try connection.statement(CacheSchema.deleteIfSame)
        for row in rows {
          try statement.execute(row.key.values + [.number(row.identity.device), .number(row.identity.inode)])
        }
      }
    }
  }

  /// Those of some files that have no entry in the store, or one of another version.
  func missing(_ rows: [CacheRow]) -> [CacheRow] {
    noting { connection in
      try connection.look {
        try rows.filter { row in
          try connection.rows(CacheSchema.storedRow, [.text(row.key.address)]).first?.isEntry(of: row) != true
        }
      }
    } ?? []
  }

  /// Removes entries that no row knows, and no living process's journal: those of an index that was set aside.
  /// - Parameter always: also where this run has begun with an index that was there.
  func sweep(_ store: FileStore, always: Bool = false) {
    guard always || wasEmpty || wasSetAside else { return }
    wasSetAside = false
    noting { connection in
      let names = try store.names()
      guard !names.isEmpty else { return }
      // In this order: a line is in the journal before its entry has its name, and moves from there into the database.
      var known = journaledEntries()
      let rows = try connection.look {
        try connection.statement(CacheSchema.storedNames).rows { $0.text(0) }
      }
      known.formUnion(rows.compactMap(\.self))
      try store.clear(names.filter { !known.contains($0) })
    }
  }

  // MARK: The index's own bound

  /// So many rows go at a time.
  private static let droppedAtOnce = 50_000

  /// So many of them in one transaction: no other process waits for longer than that takes.
  private static let droppedInStep = 500

  /// Drops the rows that were used least recently where the index has become larger than its bound, with the store's
  /// files of those that go.
  ///
  /// The pages that become free stay in the file, for new rows: to give them back would not make it smaller for long.
  /// - Parameters:
  ///   - bound: in bytes; smaller for tests.
  ///   - pause: called between two steps.
  func keepWithinBound(
    _ store: FileStore, bound: Int64 = IndexBound.bytes, pause: () throws -> Void = IndexPages.leaveAlone
  ) {
    guard isOpen else { return }
    noting { connection in
      let surplus = try connection.look {
        let bytes = try IndexPages.usedBytes(connection)
        guard bytes > bound else { return 0 }
        let rows = Int(try connection.number("SELECT COUNT(*) FROM file") ?? 0)
        return IndexBound.surplus(rows: rows, bytes: bytes, bound: bound)
      }
      var left = surplus
      while left > 0 {
        let count = Int64(min(left, Self.droppedAtOnce))
        let dropped = try connection.look { try connection.rows(CacheSchema.byUse, [.number(count)]) }
        guard !dropped.isEmpty else { break }
        for start in stride(from: 0, to: dropped.count, by: Self.droppedInStep) {
          let step = dropped[start..<min(start + Self.droppedInStep, dropped.count)]
          _ = try remove(step, from: store)
          try pause()
        }
        left -= dropped.count
      }
    }
  }
}

extension CacheRow {
  /// Whether this row of the store stands for the bytes of a file, and they are there.
  func isEntry(of row: CacheRow) -> Bool {
    self.identity.size == row.identity.size && self.validator.etag == row.validator.etag
      && self.validator.lastModified == row.validator.lastModified && self.trust == row.trust && isIntact
  }
}

extension CacheSchema {
  static let storedRow = "SELECT \(columns) FROM file WHERE address = ? AND requested = '/'"

  static let storedNames = "SELECT name FROM file WHERE requested = '/'"

  static let storedTotal =
    "SELECT COALESCE(SUM(\(StoreBound.costInSQL)), 0) FROM file WHERE requested = '/'"

  static let storedByUse =
    "SELECT \(columns) FROM file WHERE requested = '/' ORDER BY usedAt LIMIT ?"

  static let byUse = "SELECT \(columns) FROM file ORDER BY usedAt LIMIT ?"

  static let noteChange = """
    UPDATE file SET changed = ? WHERE address = ? AND device = ? AND inode = ? AND size = ?
    AND modified = ?
    """

  static let deleteIfSame = delete + " AND device = ? AND inode = ?"
}
