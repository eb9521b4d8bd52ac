import DownloadModel
import Glibc
import SystemPackage
import TestSupport
import Testing

@testable import DownloadCaching
@testable import FileReceiving

@Suite("The index in SQLite")
struct CacheIndexTests {
  private let folder: TemporaryFolder
  private var secret: UserSecret { UserSecret(in: folder.filePath.appending("cache")) }
  private let server = FakeServer()

  init() throws {
    folder = try TemporaryFolder()
    server.put("http://host/x", pattern(5000))
    server.put("http://host/y", pattern(6000))
  }

  private func index() throws -> CacheIndex {
    try CacheIndex(at: folder.filePath.appending("cache"), secret, now: { 7 })
  }

  @Test func rowsComeBackTheAskedFolderFirst() async throws {
    let index = try index()
    #expect(index.wasEmpty)
    let here = RowBatchTests.row("x", directory: "/here")
    var elsewhere = RowBatchTests.row("x", directory: "/elsewhere")
    elsewhere.fields.fetchedAt = 100
    var chosen = here
    chosen.fields.key = here.key.with(requested: "chosen")
    await index.write([elsewhere, chosen, here, RowBatchTests.row("y")])
    #expect(await index.rows(here.key) == [here, elsewhere, chosen])
    var renewed = here
    renewed.fields.validator.etag = nil
    await index.write([renewed])
    #expect(await index.rows(here.key).first == renewed)
    #expect(await index.takeWarnings() == [])
    await index.close()
    #expect(try !self.index().wasEmpty)
  }

  @Test func aFirstRunDoesNotOpenTheDatabaseUntilItEnds() async throws {
    let run = Run(in: folder, server)
    _ = try await run.get("http://host/x")
    #expect(try !folder.names(in: "cache").contains(IndexDatabase.fileName))
    _ = await run.cache.close()
    #expect(try folder.names(in: "cache").contains(IndexDatabase.fileName))
  }

  @Test(arguments: ["garbage, not a database at all, and long enough to be looked at", "SQLite format 3\0"])
  func aDamagedIndexIsSetAsideWithANote(content: String) async throws {
    _ = try await Run(in: folder, server).getAndClose("http://host/x")
    try folder.write(content + String(repeating: "#", count: 5000), to: "cache/index.sqlite")
    let run = Run(in: folder, server)
    #expect(try await run.get("http://host/x").transferred > 0)
    let warnings = await run.cache.close()
    #expect(warnings.map(\.kind) == [.damagedIndexSetAside])
    let name = try #require(warnings.first?.path.lastComponent?.string)
    #expect(name.hasPrefix("index.sqlite.damaged-784111777-"))
    #expect(try folder.text("cache/\(name)").hasPrefix(content))
    // A sound one took its place.
    #expect(try await Run(in: folder, server).getAndClose("http://host/x").kind == .unchanged)
  }

  /// As a kill leaves it whose disk lost the database: nothing can be made of the log alone.
  @Test func anEmptyDatabaseBesideItsLog() async throws {
    let index = try index()
    await index.write([RowBatchTests.row()])
    let log = try folder.read("cache/index.sqlite-wal")
    await index.close()
    try folder.write([], to: "cache/index.sqlite")
    try folder.write(log, to: "cache/index.sqlite-wal")
    let again = try self.index()
    #expect(await again.rows(RowBatchTests.row().key) == [])
    let warnings = await again.takeWarnings()
    #expect(warnings.map(\.kind) == [.damagedIndexSetAside])
    await again.close()
    let aside = try #require(warnings.first?.path.lastComponent?.string)
    #expect(try folder.read("cache/\(aside)-wal") == log)
    // Whoever clears the cache gets the place of both back.
    let cache = Run(in: folder, server).administration
    _ = try await cache.clear()
    _ = await cache.close()
    #expect(try folder.names(in: "cache") == ["index.lock", "index.sqlite", "scope-key"])
  }

  @Test func pagesThatBreakInTheMiddleAreFoundToo() async throws {
    let index = try index()
    await index.write((0..<2000).map { RowBatchTests.row("file\($0)") })
    await index.close()
    var bytes = try folder.read("cache/index.sqlite")
    for offset in 8192..<(bytes.count - 4096) { bytes[offset] = 0xAA }
    try folder.write(bytes, to: "cache/index.sqlite")
    let broken = try self.index()
    for number in 0..<2000 { _ = await broken.rows(RowBatchTests.row("file\(number)").key) }
    #expect(await broken.takeWarnings().map(\.kind) == [.damagedIndexSetAside])
    await broken.write([RowBatchTests.row("new")])
    #expect(await broken.rows(RowBatchTests.row("new").key).count == 1)
    await broken.close()
  }

  @Test func anotherTableIsDamageAsWell() async throws {
    _ = try await Run(in: folder, server).getAndClose("http://host/x")
    let database = try Connection(folder.path("cache/index.sqlite"), writes: true)
    try database.execute("DROP TABLE file; CREATE TABLE file (other INTEGER)")
    database.close()
    let run = Run(in: folder, server)
    #expect(try await run.get("http://host/x").transferred > 0)
    #expect(await run.cache.close().map(\.kind) == [.damagedIndexSetAside])
  }

  @Test(arguments: ["PRAGMA user_version = 99", "PRAGMA user_version = 0"])
  func anIndexOfAnotherVersionIsSetAside(sql: String) async throws {
    _ = try await Run(in: folder, server).getAndClose("http://host/x")
    let database = try Connection(folder.path("cache/index.sqlite"), writes: true)
    try database.execute(sql)
    database.close()
    // A file as young as the run may be the run's own, and is not adopted: the clock that stamps files goes on first.
    let written = try #require(StandingFile.of(path: folder.path("out/x"))).changed
    while WallClock.stamp() <= written {}
    let run = Run(in: folder, server)
    let outcome = try await run.get("http://host/x")
    #expect(outcome.remark == .sameAsHere, "it is adopted by its bytes")
    #expect(try await run.get("http://host/y").kind == .fetched)
    let warnings = await run.cache.close()
    #expect(warnings.map(\.kind) == [.otherVersion])
    #expect(warnings.first?.path.lastComponent?.string.hasPrefix("index.sqlite.other-784111777-") == true)
    #expect(try folder.names(in: "out") == ["x", "y"])
    #expect(try await Run(in: folder, server).getAndClose("http://host/x").kind == .unchanged)
  }

  @Test func aCacheFolderThatCannotBeMadeStopsNoDownload() async throws {
    try folder.write("a file", to: "cache")
    let run = Run(in: folder, server)
    #expect(try await run.get("http://host/x").transferred > 0)
    #expect(await run.cache.close().map(\.kind) == [.unusable])
    let error = await #expect(throws: DownloadError.self) { _ = try await run.administration.status() }
    #expect(error?.code == .cache)
  }

  @Test func commandsTellAndForget() async throws {
    let run = Run(in: folder, server)
    _ = try await run.get("http://host/x")
    _ = try await run.get("http://host/y")
    _ = await run.cache.close()
    let status = try await run.administration.status()
    #expect(status.entries == 2 && status.fileBytes == 11_000 && status.indexBytes > 4096)
    #expect(status.folder == folder.filePath.appending("cache"))
    #expect(try folder.names(in: "cache").contains("index.sqlite"))

    let first = try await run.administration.list(limit: 1)
    let second = try await run.administration.list(after: first.last, limit: 1)
    #expect(first.map(\.address) == ["http://host/x"] && second.map(\.address) == ["http://host/y"])
    #expect(try await run.administration.list(after: second.last) == [])
    #expect(
      first.first?.path == folder.filePath.appending("out").appending("x")
        && first.first?.condition == .intact)

    try folder.remove("out/x")
    try folder.write("touched", to: "out/y")
    #expect(try await run.administration.list().map(\.condition) == [.missing, .touched])
    #expect(try await run.administration.prune().entries == 2)
    #expect(try await run.administration.list() == [])
    #expect(try folder.text("out/y") == "touched")
  }

  @Test func aHundredThousandEntries() async throws {
    let count = 100_000
    try folder.write("here", to: "here")
    let file = try #require(StandingFile.of(path: folder.path("here")))
    let index = try index()
    for batch in stride(from: 0, to: count, by: 5000) {
      let rows = (batch..<(batch + 5000)).map { number in
        var row = RowBatchTests.row("f\(number)", directory: folder.path)
        row.fields.usedAt = Int64(number)
        row.fields.digest = "sha256:" + String(repeating: "0", count: 64)
        if number.isMultiple(of: 2) {
          row.fields.name = "here"
          (row.fields.identity, row.changed) = (file.identity, ChangeTime(of: file))
        }
        return row
      }
      await index.write(rows)
    }
    await index.close()
    let cache = Run(in: folder, server).administration
    do {
      var (seen, last) = (0, CacheEntry?.none)
      var conditions: [CacheEntry.Condition: Int] = [:]
      while true {
        let page = try await cache.list(after: last)
        guard let end = page.last else { break }
        if let last { #expect(last.address < page[0].address) }
        last = end
        seen += page.count
        for entry in page { conditions[entry.condition, default: 0] += 1 }
      }
      #expect(seen == count)
      #expect(conditions == [.intact: count / 2, .missing: count / 2])
    }
    // Read again, they have another checksum than their rows say.
    var (corrupt, last) = (0, CacheEntry?.none)
    for _ in 0..<50 {
      let page = try await cache.verify(after: last, limit: 20)
      last = page.last
      corrupt += page.count { $0.condition == .corrupt }
    }
    #expect(corrupt > 0)
    #expect(try await cache.prune(usedBefore: 50_000).entries == 75_000)
    #expect(try await cache.status().entries == 25_000)
    _ = await cache.close()
    #expect(try folder.text("here") == "here")
  }

  /// A clock that was set back makes entries seem to come from the future: they were used recently.
  @Test func aClockThatGoesBack() async throws {
    let index = try index()
    try folder.write("here", to: "here")
    var row = RowBatchTests.row("here", directory: folder.path)
    try row.describeStanding()
    row.fields.usedAt = 2_000_000_000
    row.fields.fetchedAt = 2_000_000_000
    await index.write([row])
    await index.close()
    let cache = Run(in: folder, server).administration
    #expect(try await cache.prune(usedBefore: 784_111_777).entries == 0)
    #expect(try await cache.prune(usedBefore: 2_000_000_001).entries == 1)
    _ = await cache.close()
  }

  /// HTTP rule 20: neither is harmed.
  @Test func clearingBesideARunningGet() async throws {
    let running = Run(in: folder, server)
    _ = try await running.get("http://host/x")
    let clearing = Run(in: folder, server)
    // What is only in the running one's batch is not the clearer's to forget.
    #expect(try await clearing.administration.clear() == Freed(entries: 0, bytes: 0))
    _ = try await running.get("http://host/y")
    #expect(await running.cache.close() == [])
    #expect(try await clearing.administration.status().entries == 2)
    let freed = try await clearing.administration.clear()
    #expect(freed.entries == 2)
    #expect(try await clearing.administration.status().entries == 0)
    _ = await clearing.administration.close()
    #expect(try folder.names(in: "out") == ["x", "y"])
  }

  @Test func clearingRemovesWhatTheDeadLeft() async throws {
    _ = try await Run(in: folder, server).getAndClose("http://host/x")
    try folder.write("garbage", to: "cache/index.sqlite")
    _ = try await Run(in: folder, server).getAndClose("http://host/x")
    #expect(try folder.names(in: "cache").contains { $0.hasPrefix("index.sqlite.damaged-") })
    let cache = Run(in: folder, server).administration
    _ = try await cache.clear()
    _ = await cache.close()
    #expect(try folder.names(in: "cache") == ["index.lock", "index.sqlite", "scope-key"])
  }

  /// Any `*.log` was read whole and removed by every run, and `clear` removed whatever was called like an
  /// index that had been set aside.
  @Test func whatOthersKeepInTheCacheFolderStays() async throws {
    let theirs = [
      "foo.log", "1-a.log", ".log", "index.sqlite.damaged-1", "index.sqlite.damaged-", "scope-key.1",
    ]
    try folder.makeFolder("cache")
    for name in theirs { try folder.write("theirs: \(name)", to: "cache/\(name)") }
    _ = try await Run(in: folder, server).getAndClose("http://host/x")
    let run = Run(in: folder, server)
    _ = try await run.administration.clear()
    _ = try await run.getAndClose("http://host/y")
    for name in theirs { #expect(try folder.text("cache/\(name)") == "theirs: \(name)") }
  }

  /// SQLite planned each statement anew at each look, because changes were forbidden by a setting before it.
  @Test func aLookPlansNothingAnew() throws {
    let connection = try Connection(folder.path("x.sqlite"), writes: true)
    try connection.write { try connection.execute("CREATE TABLE t (x)") }
    let count = "SELECT COUNT(*) FROM t"
    for _ in 0..<3 { #expect(try connection.look { try connection.number(count) } == 0) }
    #expect(try connection.statement(count).plansMade == 0)
    #expect(throws: Connection.Failure.self) {
      try connection.look { try connection.execute("SELECT * FROM missing") }
    }
    #expect(!connection.isInTransaction)
    #expect(try connection.look { connection.isInTransaction })
  }

  /// What is no text sorts behind all texts, so that a page began with it again and again.
  @Test(arguments: ["address", "directory", "requested"]) func aKeyThatIsNoText(column: String) async throws {
    for name in ["x", "y"] { _ = try await Run(in: folder, server).getAndClose("http://host/\(name)") }
    let database = try Connection(folder.path("cache/index.sqlite"), writes: true)
    try database.execute("UPDATE OR IGNORE file SET \(column) = x'ff00ff'")
    database.close()
    let cache = Run(in: folder, server).administration
    _ = try await cache.list()
    _ = try await cache.verify()
    _ = try await cache.prune()
    #expect(await cache.close().map(\.kind) == [.damagedIndexSetAside])
  }
}
