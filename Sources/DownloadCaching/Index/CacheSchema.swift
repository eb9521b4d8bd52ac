import GRDB

/// The index's tables and statements. A change is a new migration; an old one is never edited.
enum CacheSchema {
  static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("1 files") { database in
      // The address leads the key: its rows in all folders, and from there one file, are neighbours.
      try database.execute(
        sql: """
          CREATE TABLE file (
            address TEXT NOT NULL, scope TEXT NOT NULL, directory TEXT NOT NULL, requested TEXT NOT NULL,
            name TEXT NOT NULL, wanted TEXT NOT NULL,
            device INTEGER NOT NULL, inode INTEGER NOT NULL, size INTEGER NOT NULL, modified INTEGER NOT NULL,
            etag TEXT, last_modified TEXT, date TEXT,
            fetched_at INTEGER NOT NULL, cache_control TEXT, expires TEXT, age TEXT, vary TEXT,
            answered_by TEXT, digest TEXT,
            PRIMARY KEY (address, scope, directory, requested)
          ) WITHOUT ROWID
          """)
    }
    migrator.registerMigration("2 selection") { database in
      try database.execute(
        sql: """
          ALTER TABLE file ADD COLUMN selection TEXT;
          -- One file that two addresses took for theirs: nobody knows any more whose it is.
          DELETE FROM file WHERE (directory, name) IN
            (SELECT directory, name FROM file GROUP BY directory, name HAVING COUNT(*) > 1);
          -- Without the query, one resource was taken for the other: it cannot be told which of them answered.
          UPDATE file SET etag = NULL, last_modified = NULL WHERE answered_by IS NOT NULL;
          """)
    }
    return migrator
  }

  static let columns = """
    address, scope, directory, requested, name, wanted, device, inode, size, modified, etag, last_modified, \
    date, fetched_at, cache_control, expires, age, vary, answered_by, digest, selection
    """

  static let insert =
    "INSERT OR REPLACE INTO file (\(columns)) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"

  /// The asked folder's row first, then the youngest of other folders.
  static let lookup = """
    SELECT \(columns) FROM file WHERE address = ? AND scope = ?
    ORDER BY (directory = ? AND requested = ?) DESC, fetched_at DESC LIMIT 8
    """

  static let page = """
    SELECT \(columns) FROM file WHERE (address, scope, directory, requested) > (?, ?, ?, ?)
    ORDER BY address, scope, directory, requested LIMIT ?
    """

  static let ownership = """
    SELECT device, inode, size, modified, address, scope, requested FROM file WHERE directory = ?
    """

  static let delete =
    "DELETE FROM file WHERE address = ? AND scope = ? AND directory = ? AND requested = ?"
}
