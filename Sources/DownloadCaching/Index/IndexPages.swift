import GRDB
import Glibc

/// The pages of the database that hold nothing any more, and how they are given back to the disk without
/// holding up other processes: by VACUUM only where that copies little, else a few at a time, for which the
/// database has to be made (`auto_vacuum`).
enum IndexPages {
  /// Bytes that VACUUM copies within moments.
  static let mostCopied: Int64 = 8 << 20
  /// Pages that are given back in one transaction.
  private static let atOnce = 256

  /// To be called before the first table is made.
  static func prepare(_ database: Database) throws {
    try database.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL")
  }

  /// Bytes in pages that hold something.
  static func usedBytes(_ database: Database) throws -> Int64 {
    try (number("page_count", database) - number("freelist_count", database)) * number("page_size", database)
  }

  private static func number(_ pragma: String, _ database: Database) throws -> Int64 {
    try Int64.fetchOne(database, sql: "PRAGMA \(pragma)") ?? 0
  }

  /// Gives free pages back.
  /// - Parameters:
  ///   - mostCopied: what VACUUM may copy at most, in bytes.
  ///   - pause: called between two steps.
  static func giveBack(
    _ queue: DatabaseQueue, mostCopied: Int64 = mostCopied, pause: () throws -> Void = leaveAlone
  ) throws {
    if try queue.look({ try usedBytes($0) }) <= mostCopied {
      return try queue.writeWithoutTransaction { try $0.execute(sql: "VACUUM") }
    }
    var before = Int64.max
    while true {
      let free = try queue.writeWithoutTransaction { database in
        try database.execute(sql: "PRAGMA incremental_vacuum(\(atOnce))")
        return try number("freelist_count", database)
      }
      try pause()
      // Others may make pages free at the same time: this goes on for as long as there are fewer.
      guard free > 0, free < before else { return }
      before = free
    }
  }

  /// Leaves the database alone for about as long as a step had it: a process that waits for it looks every
  /// 20 ms, and would otherwise hardly ever find it free.
  static func leaveAlone() { usleep(5000) }
}
