import DownloadModel
import GRDB
import Glibc
import SystemPackage
import TestSupport
import Testing

@testable import DownloadCaching

/// Whatever happens to the index: no crash, no file of the user's lost or wrong, and what can still be read in
/// it is still known.
@Suite("An index that is damaged, or of a later version, is rebuilt from what is there")
struct IndexSalvageTests {
  private let folder: TemporaryFolder
  private static let count = 300

  private var secret: UserSecret { UserSecret(in: folder.filePath.appending("cache")) }

  init() throws { folder = try TemporaryFolder() }

  private func open() throws -> CacheIndex {
    try CacheIndex(at: folder.filePath.appending("cache"), secret, now: { 7 })
  }

  /// An address's file, on disk and as a row. One in ten has an address that fills more than a page.
  private func rows() throws -> [CacheRow] {
    try folder.makeFolder("out")
    return try (0..<Self.count).map { number in
      let name = "f\(number)"
      try folder.write("body of \(number)", to: "out/\(name)")
      let query = number.isMultiple(of: 10) ? "?sig=" + String(repeating: "\(number % 10)", count: 5000) : ""
      return CacheRow(
        key: RowKey(
          address: "http://host/\(name)\(query)", scope: "", directory: folder.path("out"), requested: ""),
        name: name, wanted: name,
        identity: try #require(FileIdentity.of(path: folder.path("out/\(name)"))),
        validator: Validator(etag: "\"v\(number)\"", lastModified: nil, date: "d"), fetchedAt: 100,
        usedAt: 200,
        status: 200, freshness: FreshnessFields(cacheControl: "max-age=10000", vary: "Accept"),
        digest: "sha256:00")
    }
  }

  /// The index of three hundred files, closed.
  private func make() async throws -> [CacheRow] {
    let rows = try rows()
    let index = try open()
    await index.write(rows, retiring: nil)
    await index.close()
    return rows
  }

  private static func expected(_ row: CacheRow) -> CacheRow {
    var row = row
    row.freshness = FreshnessFields(vary: row.freshness.vary)
    return row
  }

  /// What a new process knows of the files.
  /// - Returns: how many are known, and the warnings.
  private func known(
    _ rows: [CacheRow], changed: Bool = false
  ) async throws -> (count: Int, warnings: [CacheWarning]) {
    let index = try open()
    var count = 0
    for row in rows {
      // What is not intact is not used: SQLite cannot see that a value has changed.
      guard let known = await index.rows(row.key).first(where: { $0.key == row.key && $0.isIntact }) else {
        continue
      }
      count += 1
      #expect(known.path == row.path)
      if !changed {
        #expect(known == Self.expected(row) || known == row)
      }
    }
    // It takes new ones.
    await index.write([JournalTests.row("new")], retiring: nil)
    #expect(await index.rows(JournalTests.row("new").key).count == 1)
    let warnings = await index.takeWarnings()
    await index.close()
    for number in 0..<Self.count { #expect(try folder.text("out/f\(number)") == "body of \(number)") }
    // Damage that SQLite did not meet stays where it is.
    if !changed || !warnings.isEmpty {
      let sound = try DatabaseQueue(path: folder.path("cache/index.sqlite"))
      #expect(try await sound.read { try String.fetchOne($0, sql: "PRAGMA integrity_check") } == "ok")
    }
    return (count, warnings)
  }

  private func index() throws -> [UInt8] { try folder.read("cache/index.sqlite") }
  private func replace(_ bytes: [UInt8]) throws { try folder.write(bytes, to: "cache/index.sqlite") }

  @Test func aBrokenHeadCostsNothing() async throws {
    let rows = try await make()
    var bytes = try index()
    for offset in 0..<4096 { bytes[offset] = UInt8(truncatingIfNeeded: offset &* 31) }
    try replace(bytes)
    let (count, warnings) = try await known(rows)
    #expect(count == Self.count)
    #expect(warnings.map(\.kind) == [.damagedIndexSetAside])
    #expect(warnings.first?.found == Self.count && warnings.first?.kept == Self.count)
    let aside = try #require(warnings.first?.path.lastComponent?.string)
    #expect(try folder.read("cache/\(aside)") == bytes)
    #expect(try folder.names(in: "cache").count == 4)  // lock, secret, old and new index
    #expect(try await known(rows).warnings == [])
  }

  /// An address in two folders was found once, and kept twice.
  @Test func anAddressInSeveralFolders() async throws {
    var rows = try await make()
    for name in ["a", "b"] {
      var row = rows[0]
      row.key = row.key.with(directory: folder.path(name))
      try folder.write("body", to: "\(name)/f0")
      row.identity = try #require(FileIdentity.of(path: folder.path("\(name)/f0")))
      rows.append(row)
    }
    let index = try open()
    await index.write(rows, retiring: nil)
    await index.close()
    var bytes = try self.index()
    for offset in 0..<100 { bytes[offset] = 1 }
    try replace(bytes)
    let (count, warnings) = try await known(rows)
    #expect(count == Self.count + 2)
    #expect(warnings.first?.found == Self.count + 2 && warnings.first?.kept == Self.count + 2)
  }

  @Test func cutShortAtEachPage() async throws {
    let rows = try await make()
    let bytes = try index()
    #expect(bytes.count > 50 * 4096)
    var last = 0
    for length in stride(from: 0, to: bytes.count, by: 4096 * 7) {
      try replace(Array(bytes[..<length]))
      let (count, warnings) = try await known(rows)
      // Each page holds some, and none is lost that stood before the cut.
      #expect(count >= last && count < Self.count, "\(length)")
      #expect(warnings.map(\.kind) == (length == 0 ? [] : [.damagedIndexSetAside]), "\(length)")
      last = length > 0 ? max(0, count - 20) : 0
    }
    #expect(last > Self.count / 2)
  }

  /// A bit that flips in a value goes unnoticed by SQLite: it may cost a row, but never gives a wrong file.
  @Test(arguments: 0..<6)
  func bytesFlipInEachPage(seed: Int) async throws {
    let rows = try await make()
    var bytes = try index()
    var random = SplitMix64(seed: UInt64(seed) &+ 99)
    for page in stride(from: 0, to: bytes.count, by: 4096) {
      for _ in 0...(seed % 3) {
        bytes[page + Int.random(in: 0..<4096, using: &random)] ^= UInt8.random(in: 1...255, using: &random)
      }
    }
    try replace(bytes)
    let (count, _) = try await known(rows, changed: true)
    #expect(count > Self.count / 2, "\(count)")
  }

  @Test(arguments: ["", "not a database, and long enough: ", "SQLite format 3\u{0}"])
  func anotherKindOfFile(content: String) async throws {
    let rows = try await make()
    try replace(content.isEmpty ? [] : Array((content + String(repeating: "#", count: 9000)).utf8))
    let (count, warnings) = try await known(rows)
    #expect(count == 0)
    #expect(warnings.map(\.kind) == (content.isEmpty ? [] : [.damagedIndexSetAside]))
    #expect(warnings.allSatisfy { $0.found == 0 })
  }

  @Test func aLaterVersionWithMoreColumnsAndTables() async throws {
    let rows = try await make()
    let database = try DatabaseQueue(path: folder.path("cache/index.sqlite"))
    try await database.write {
      try $0.execute(
        sql: """
          ALTER TABLE file ADD COLUMN later TEXT DEFAULT 'x'; CREATE TABLE other (a TEXT); INSERT INTO other VALUES ('y');
          INSERT INTO grdb_migrations VALUES ('99 later')
          """)
    }
    try database.close()
    let (count, warnings) = try await known(rows)
    #expect(count == Self.count)
    #expect(warnings.map(\.kind) == [.laterVersion])
    #expect(warnings.first?.kept == Self.count)
    // It stands there for the later version, with all that was in it.
    let aside = try #require(warnings.first?.path.string)
    let old = try DatabaseQueue(path: aside)
    #expect(try await old.read { try Int.fetchOne($0, sql: "SELECT COUNT(later) FROM file") } == Self.count)
    #expect(try await known(rows).warnings == [])
  }

  @Test func aLaterVersionWithAnotherTable() async throws {
    let rows = try await make()
    let database = try DatabaseQueue(path: folder.path("cache/index.sqlite"))
    try await database.write {
      try $0.execute(
        sql: "DROP TABLE file; CREATE TABLE file (id); INSERT INTO grdb_migrations VALUES ('99 later')")
    }
    try database.close()
    let (count, warnings) = try await known(rows)
    #expect(count == 0)
    #expect(warnings.map(\.kind) == [.laterVersion] && warnings.first?.found == 0)
  }

  /// As SIGKILL leaves it: most rows are in the log.
  private func makeWithLog() async throws -> (rows: [CacheRow], database: [UInt8], log: [UInt8]) {
    let rows = try rows()
    let index = try open()
    await index.write(Array(rows[..<100]), retiring: nil)
    await index.close()
    let again = try open()
    await again.write(Array(rows[100...]), retiring: nil)
    let (database, log) = (try self.index(), try folder.read("cache/index.sqlite-wal"))
    await again.close()
    #expect(log.count > 100_000)
    return (rows, database, log)
  }

  @Test func theLogIsReadToo() async throws {
    let (rows, database, log) = try await makeWithLog()
    var broken = database
    // The fifth page is the table's root: before it are the schema, a page of pointers, and what was migrated.
    for offset in 4 * 4096..<5 * 4096 { broken[offset] = 0x55 }
    try replace(broken)
    try folder.write(log, to: "cache/index.sqlite-wal")
    let (count, _) = try await known(rows)
    #expect(count >= 190)
  }

  @Test func aMissingLog() async throws {
    let (rows, database, _) = try await makeWithLog()
    try replace(database)
    let (count, _) = try await known(rows)
    #expect(count == 100)
  }

  @Test func anEmptyDatabaseBesideItsLog() async throws {
    let (rows, _, log) = try await makeWithLog()
    try replace([])
    try folder.write(log, to: "cache/index.sqlite-wal")
    let (count, warnings) = try await known(rows)
    #expect(count >= 200)
    #expect(warnings.map(\.kind) == [.damagedIndexSetAside])
    let aside = try #require(warnings.first?.path.lastComponent?.string)
    #expect(try folder.read("cache/\(aside)-wal") == log)
    // Whoever clears the cache gets the place of both back.
    let cache = CacheAdministration(folder.filePath.appending("cache"), now: { 9 })
    _ = try await cache.clear()
    _ = await cache.close()
    #expect(try folder.names(in: "cache") == ["index.lock", "index.sqlite", "scope-key"])
  }

  @Test func theLogOfAnotherDatabase() async throws {
    let (rows, database, _) = try await makeWithLog()
    let other = try TemporaryFolder()
    let queue = try DatabasePool(path: other.path("other.sqlite"))
    try await queue.write { database in
      try database.execute(sql: "CREATE TABLE file (other TEXT); CREATE TABLE more (a TEXT)")
      for number in 0..<500 {
        try database.execute(sql: "INSERT INTO file VALUES (?)", arguments: ["\(number) of another"])
      }
    }
    let log = try other.read("other.sqlite-wal")
    try replace(database)
    try folder.write(log, to: "cache/index.sqlite-wal")
    let (count, warnings) = try await known(rows)
    #expect(count > 50, "\(count)")
    #expect(warnings.map(\.kind) == [.damagedIndexSetAside])
    try queue.close()
  }

  /// A file that was touched since is not vouched for by a row that was salvaged either.
  @Test func onlyWhatStandsAsItWasWrittenIsTakenOver() async throws {
    let rows = try await make()
    var bytes = try index()
    bytes.replaceSubrange(0..<100, with: [UInt8](repeating: 0, count: 100))
    try replace(bytes)
    try folder.remove("out/f1")
    try folder.write("changed", to: "out/f2")
    let index = try open()
    #expect(await index.rows(rows[1].key).isEmpty)
    #expect(await index.rows(rows[2].key).isEmpty)
    #expect(await index.rows(rows[3].key).count == 1)
    let warning = try #require(await index.takeWarnings().first)
    #expect(warning.found == Self.count && warning.kept == Self.count - 2)
    await index.close()
  }

  // MARK: Killed while it is set aside: the table in IndexRebuilding

  private var draft: String { IndexRebuilding.draftName(of: "index.sqlite", secret) }

  private func damaged(_ bytes: [UInt8]) -> [UInt8] { [UInt8](repeating: 0x55, count: 4096) + bytes[4096...] }

  @Test("1: half a draft", arguments: [0, 100, 40_000])
  func halfADraft(length: Int) async throws {
    let rows = try await make()
    let bytes = try index()
    try replace(damaged(bytes))
    try folder.write(Array(bytes[..<length]), to: "cache/\(draft)")
    #expect(chmod(folder.path("cache/\(draft)"), 0o600) == 0)
    #expect(try await known(rows).count == Self.count)
    #expect(try !folder.names(in: "cache").contains(draft))
  }

  @Test("2: the log is renamed already; its rows are in the draft", arguments: [true, false])
  func logRenamed(opens: Bool) async throws {
    let (rows, database, _) = try await makeWithLog()
    let whole = try index()
    try folder.write(whole, to: "cache/\(draft)")
    #expect(chmod(folder.path("cache/\(draft)"), 0o600) == 0)
    try replace(opens ? database : damaged(database))
    #expect(try await known(rows).count == Self.count)
    #expect(try !folder.names(in: "cache").contains(draft))
  }

  @Test("3: the draft alone")
  func draftAlone() async throws {
    let rows = try await make()
    #expect(rename(folder.path("cache/index.sqlite"), folder.path("cache/\(draft)")) == 0)
    #expect(try !open().wasEmpty)
    let (count, warnings) = try await known(rows)
    #expect(count == Self.count && warnings == [])
    #expect(try !folder.names(in: "cache").contains(draft))
  }

  /// A draft that others could write is not this user's word.
  @Test func anothersDraftStays() async throws {
    let rows = try await make()
    #expect(rename(folder.path("cache/index.sqlite"), folder.path("cache/\(draft)")) == 0)
    #expect(chmod(folder.path("cache/\(draft)"), 0o666) == 0)
    #expect(try await known(rows).count == 0)
    #expect(try folder.names(in: "cache").contains(draft))
  }
}
