import Glibc

/// The pages of the database that hold nothing any more, and how they are given back to the disk without holding up
/// other processes: a few at a time, for which the database has to be made (`auto_vacuum`).
enum IndexPages {
  /// Pages that are given back in one transaction.
  private static let atOnce = 256

  /// To be called before the first table is made.
  static func prepare(_ connection: Connection) throws(DatabaseError) {
    try connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
  }

  /// Bytes in pages that hold something.
  static func usedBytes(_ connection: Connection) throws(DatabaseError) -> Int64 {
    try (number("page_count", connection) - number("freelist_count", connection))
      * number("page_size", connection)
  }

  private static func number(_ pragma: String, _ connection: Connection) throws(DatabaseError) -> Int64 {
    try connection.number("PRAGMA \(pragma)") ?? 0
  }

  /// Gives free pages back.
  /// - Parameter pause: called between two steps.
  static func giveBack(_ connection: Connection, pause: () throws -> Void = leaveAlone) throws {
    var before = Int64.max
    while true {
      try connection.execute("PRAGMA incremental_vacuum(\(atOnce))")
      let free = try number("freelist_count", connection)
      try pause()
      // Others may make pages free at the same time: this goes on for as long as there are fewer.
      guard free > 0, free < before else { return }
      before = free
    }
  }

  /// Leaves the database alone for about as long as a step had it: a process that waits for it looks every 20 ms, and
  /// would otherwise hardly ever find it free.
  static func leaveAlone() { usleep(5000) }
}
