import DownloadModel
import Synchronization
import SystemPackage
import TestSupport
import Testing

@testable import DownloadCaching
@testable import FileReceiving

@Suite("An index that is made smaller holds nobody up")
struct IndexPagesTests {
  private let folder: TemporaryFolder
  private let path: String
  private let secret: UserSecret

  init() throws {
    folder = try TemporaryFolder()
    path = folder.path("cache/index.sqlite")
    secret = UserSecret(in: folder.filePath.appending("cache"))
  }

  private func index() throws -> CacheIndex {
    try CacheIndex(at: folder.filePath.appending("cache"), secret, now: { 7 })
  }

  private static func rows(_ count: Int) -> [CacheRow] {
    (0..<count).map { number in
      var row = RowBatchTests.row("\(number * 7919 % count)", directory: "/nowhere")
      row.fields.validator.etag = String(repeating: "e", count: 300)
      row.fields.usedAt = Int64(number)
      return row
    }
  }

  /// Another connection, as another process has one, which waits for nobody.
  private final class Other: Sendable {
    private let path: String
    private let writes = Lock(0)

    init(_ path: String) { self.path = path }

    func write() throws {
      let number = writes.withLock { count in
        count += 1
        return count
      }
      var row = RowBatchTests.row("other\(number)", directory: "/nowhere")
      row.fields.usedAt = 1 << 40
      let connection = try Connection(path, writes: true)
      try connection.write { try IndexDatabase.store([row], in: connection) }
    }

    var count: Int { writes.withLock { $0 } }

    func number(_ sql: String) throws -> Int { Int(try Connection(path, writes: false).number(sql) ?? 0) }
  }

  /// It ended in a VACUUM, for which all others waited.
  @Test func othersWriteWhileRowsAreDropped() async throws {
    let index = try index()
    await index.write(Self.rows(6000))
    let other = Other(path)
    let before = try other.number("PRAGMA page_count")
    await index.keepWithinBound(bound: 1_000_000) { try other.write() }
    #expect(await index.takeWarnings() == [])
    let left = try other.number("SELECT COUNT(*) FROM file")
    #expect(left < 3000, "\(left)")
    // A step took no more than 500 of them, and the other wrote after each.
    #expect(other.count >= (6000 - left) / 500)
    #expect(try other.number("SELECT COUNT(*) FROM file WHERE name LIKE 'other%'") == other.count)
    // What is free is kept for new rows.
    #expect(try other.number("PRAGMA page_count") >= before)
    #expect(try other.number("PRAGMA freelist_count") > 0)
    await index.write(Self.rows(6000 - left))
    #expect(try other.number("PRAGMA page_count") <= before * 11 / 10)
    await index.close()
  }

  @Test func othersWriteWhilePagesAreGivenBack() async throws {
    let index = try index()
    await index.write(Self.rows(20_000))
    let other = Other(path)
    let before = try other.number("PRAGMA page_count")
    _ = try await index.forget(Self.rows(20_000).dropLast(2000).map(\.key))
    #expect(try other.number("PRAGMA freelist_count") > 512)
    let failure = await index.answer { index in
      index.database.noting { try IndexDatabase.giveBackPages($0) { try other.write() } } == nil
    }
    #expect(!failure)
    #expect(other.count > 2)
    #expect(try other.number("SELECT COUNT(*) FROM file") == 2000 + other.count)
    #expect(try other.number("PRAGMA page_count") < before / 2)
    #expect(try other.number("PRAGMA integrity_check(1)") == 0)
    await index.close()
  }
}
