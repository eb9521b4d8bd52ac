import DownloadModel
import SystemPackage
import TestSupport
import Testing

@testable import DownloadCaching

@Suite("The journal: rows that a SIGKILL must not lose")
struct JournalTests {
  private let secret = UserSecret.forThisProcess()

  static func row(_ name: String = "x", directory: String = "/d", etag: String? = "\"v1\"") -> CacheRow {
    CacheRow(
      key: RowKey(address: "http://host/\(name)", scope: "", directory: directory, requested: ""),
      name: name, wanted: name, identity: FileIdentity(device: 1, inode: 2, size: 3, modified: -4),
      validator: Validator(etag: etag, lastModified: nil, date: "d"), fetchedAt: 5,
      freshness: FreshnessFields(cacheControl: "max-age=1", vary: "*"), effectiveURL: nil, digest: "sha256:00"
    )
  }

  @Test(arguments: ["x", "", "日本", "a\tb", "a\nb", "a\\b", "\\0", "\\", "\\t", "\\n\\"])
  func everyTextComesBack(text: String) {
    var row = Self.row(text, directory: text, etag: text)
    row.key = row.key.with(requested: text)
    row.effectiveURL = text
    row.selection = text
    #expect(JournalLine.decode(JournalLine.encode(row)) == [row])
  }

  @Test(arguments: [0, 7, -1, 10, 1_234_567_890, .max, .min] as [Int64])
  func everyNumberComesBack(number: Int64) {
    var row = Self.row()
    row.identity = FileIdentity(device: number, inode: number, size: number, modified: number)
    (row.fetchedAt, row.usedAt, row.status) = (number, number, Int(number))
    #expect(JournalLine.decode(JournalLine.encode(row)) == [row])
  }

  @Test func tornAndForeignLinesAreLeftOut() {
    let (one, two) = (JournalLine.encode(Self.row("a")), JournalLine.encode(Self.row("b")))
    #expect(JournalLine.decode(one + two.dropLast()).map(\.name) == ["a"])
    #expect(JournalLine.decode(one + Array("garbage\n3\tx\n\n".utf8) + two).map(\.name) == ["a", "b"])
    #expect(JournalLine.decode([]) == [])
    #expect(JournalLine.decode(Array(two.dropLast())) == [])
  }

  @Test func itIsMadeAtTheFirstLineAndGoesWithTheBatch() throws {
    let temporary = try TemporaryFolder()
    let folder = try Folder(temporary.filePath, mode: 0o700)
    let journal = CommitJournal(in: folder, secret)
    try journal.retire()
    #expect(try temporary.names() == [])
    try journal.append(Self.row("a"))
    try journal.append(Self.row("b"))
    let name = try #require(try temporary.names().first)
    #expect(JournalLine.decode(try temporary.read(name)).map(\.name) == ["a", "b"])
    try journal.retire()
    #expect(try temporary.names() == [])
  }

  @Test func onlyJournalsOfTheDeadAreAdopted() throws {
    let temporary = try TemporaryFolder()
    let folder = try Folder(temporary.filePath, mode: 0o700)
    let living = CommitJournal(in: folder, secret)
    try living.append(Self.row("living"))
    do { try CommitJournal(in: folder, secret).append(Self.row("dead")) }
    var adopted: [String] = []
    try CommitJournal.forEachAbandoned(in: folder, secret) { adopted += $0.map(\.name) }
    #expect(adopted == ["dead"])
    #expect(try temporary.names().count == 1)
    try living.append(Self.row("still living"))
    try living.retire()
  }

  @Test func aJournalThatCannotBeTakenInStays() throws {
    struct Refused: Error {}
    let temporary = try TemporaryFolder()
    let folder = try Folder(temporary.filePath, mode: 0o700)
    do { try CommitJournal(in: folder, secret).append(Self.row("dead")) }
    #expect(throws: Refused.self) {
      try CommitJournal.forEachAbandoned(in: folder, secret) { _ in throw Refused() }
    }
    #expect(try temporary.names().count == 1)
  }

  /// Killed after files got their names and before their batch was full.
  @Test func aRunThatWasKilledIsKnownToTheNext() async throws {
    let folder = try TemporaryFolder()
    let server = FakeServer()
    for name in ["a", "b"] { server.put("http://host/\(name)", pattern(100)) }
    do {
      // Neither closed nor flushed: what SIGKILL leaves, once the descriptors are gone.
      let run = Run(in: folder, server)
      _ = try await run.get("http://host/a")
      _ = try await run.get("http://host/b")
    }
    #expect(try folder.names(in: "cache").contains { $0.hasSuffix(".log") })
    #expect(try !folder.names(in: "cache").contains(CacheIndex.fileName))
    let next = Run(in: folder, server)
    #expect(try await next.get("http://host/a").kind == .unchanged)
    #expect(await next.cache.close() == [])
    #expect(try !folder.names(in: "cache").contains { $0.hasSuffix(".log") })
    #expect(try await Run(in: folder, server).getAndClose("http://host/b").kind == .unchanged)
  }

  /// Killed between a journal line and the name: the file that stands there is the older one, and its row
  /// true.
  @Test func aLineWithoutItsFileDoesNotHideTheOlderRow() async throws {
    let folder = try TemporaryFolder()
    let server = FakeServer()
    server.put("http://host/a", pattern(100))
    _ = try await Run(in: folder, server).getAndClose("http://host/a")
    let cacheFolder = try Folder(folder.filePath.appending("cache"), mode: 0o700)
    var line = Self.row("a", directory: folder.path + "/out")
    line.validator.etag = "\"never named\""
    do { try CommitJournal(in: cacheFolder, UserSecret(in: folder.filePath.appending("cache"))).append(line) }
    #expect(try await Run(in: folder, server).getAndClose("http://host/a").kind == .unchanged)
  }

  @Test func severalProcessesAtOnce() async throws {
    let folder = try TemporaryFolder()
    let server = FakeServer()
    for number in 0..<40 { server.put("http://host/\(number)", pattern(100)) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for process in 0..<4 {
        group.addTask {
          let run = Run(in: folder, server, directory: "out\(process)")
          for number in 0..<40 { _ = try await run.get("http://host/\(number)") }
          let warnings = await run.cache.close()
          #expect(warnings == [])
        }
      }
      try await group.waitForAll()
    }
    #expect(try await Run(in: folder, server).administration.status().entries == 160)
    #expect(try !folder.names(in: "cache").contains { $0.hasSuffix(".log") })
  }
}

extension RowKey {
  /// The key with another scope, folder or requested name.
  func with(scope: String? = nil, directory: String? = nil, requested: String? = nil) -> RowKey {
    RowKey(
      address: address, scope: scope ?? self.scope, directory: directory ?? self.directory,
      requested: requested ?? self.requested)
  }
}
