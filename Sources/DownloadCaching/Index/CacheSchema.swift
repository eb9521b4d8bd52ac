import FileReceiving

enum CacheSchema {
  /// Changes with the table. An index of another format is set aside.
  static let format: Int64 = 1

  /// Rows of one URL are neighbours. The index `stored` covers the store's files only.
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
  /// Rows of the cache's own store (`RowKey.stored`).
  private static let isStored = "requested = '/'"
  private static let isUsers = "requested NOT LIKE '/%'"
  private static let isOfKey = "address = ? AND directory = ? AND requested = ?"

  static let insert = "INSERT OR REPLACE INTO file VALUES (\(RowColumn.all.map { _ in "?" }.joined(separator: ", ")))"

  /// The row of the key first, then that of the store, so that it is found among many, then the youngest.
  static let lookup = """
    \(select) WHERE address = ?
    ORDER BY (directory = ? AND requested = ?) DESC, (\(isStored)) DESC, fetchedAt DESC LIMIT 8
    """

  /// At most one row more than `IndexReader` accepts, and whether it is that of the key.
  static let rowsOfAddress =
    "SELECT \(columns), directory = ?2 AND requested = ?3 FROM file WHERE address = ?1 LIMIT 10"

  /// The row of a key. Without the plus sign, SQLite would plan the statement again for each value (`stored`).
  static let ownRow = "\(select) WHERE address = ? AND directory = ? AND +requested = ?"

  static let sizeOfAddress = "SELECT size FROM file WHERE address = ? ORDER BY fetchedAt DESC LIMIT 1"

  /// For `ofUsers`, without the store's files and rejected ones.
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

  /// As `StoreKeeper.Bound.cost` counts.
  static let storedTotal = "SELECT COALESCE(SUM((\(size) + 4095) / 4096 * 4096), 0) FROM file WHERE \(isStored)"

  static let storedByUse = "\(select) WHERE \(isStored) ORDER BY usedAt LIMIT ?"
}
