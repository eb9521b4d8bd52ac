import DownloadModel
import Glibc
import SystemPackage
import TestSupport
import Testing

@testable import DownloadCaching
@testable import FileReceiving

extension CacheRow {
  /// Makes it the row of the file that stands under its name.
  mutating func describeStanding() throws {
    let file = try #require(StandingFile.of(path: path))
    (self.fields.identity, self.changed) = (file.identity, ChangeTime(of: file))
  }
}

extension CacheIndex {
  /// Stores rows that stand in no journal.
  func write(_ rows: [CacheRow]) {
    database.noting { connection in try connection.write { try IndexDatabase.store(rows, in: connection) } }
  }
}

@Suite("The journal: rows that a SIGKILL must not lose")
struct JournalTests {
  private let secret = UserSecret.forThisProcess()

  static func row(_ name: String = "x", directory: String = "/d", etag: String? = "\"v1\"") -> CacheRow {
    CacheRow(
      key: RowKey(address: "http://host/\(name)", directory: directory, requested: ""),
      name: name, wanted: name, identity: FileIdentity(device: 1, inode: 2, size: 3, modified: -4),
      changed: ChangeTime(number: 6),
      validator: Validator(etag: etag, lastModified: nil, date: "d"), fetchedAt: 5,
      freshness: FreshnessFields(cacheControl: "max-age=1", vary: "*"), effectiveURL: nil, digest: "sha256:00"
    )
  }

  /// A kill between the link of the final name and the removal of the part's (`StagedFile`), as the disk is then.
  @Test("killed while the file has both names")
  func bothNamesAndTheJournal() async throws {
    let (folder, body) = (try TemporaryFolder(), pattern(2 << 20))
    let server = FakeServer()
    server.put("http://host/x", body)
    do { _ = try await Run(in: folder, server).get("http://host/x") }
    try folder.hardLink("out/x", as: "out/x.part")
    // The line is as it was before the file had its name.
    let journal = try #require(folder.names(in: "cache").first { $0.hasSuffix(".log") })
    var row = try #require(JournalLine.decode(folder.read("cache/\(journal)")).first)
    // From the file as it is now, so that a slow test does not leave the two seconds that a line is good for.
    let linked = try #require(StandingFile.of(path: folder.path("out/x")))
    row.changed = .beforeNaming(linked.changed - 1_000_000_000)
    try folder.write(JournalLine.encode(row), to: "cache/\(journal)")
    let secret = UserSecret(in: folder.filePath.appending("cache"))
    let held = HeldPart(validator: Validator(etag: "\"v1\""), total: Int64(body.count))
    let metadata = ResumeMetadata(address: "http://host/x", held: held, name: "x").json(secret)
    try folder.write(metadata, to: "out/x.part.json")
    #expect(try await Run(in: folder, server).getAndClose("http://host/x").kind == .unchanged)
    #expect(try folder.names(in: "out") == ["x"])
  }

  @Test(arguments: ["x", "", "日本", "a\tb", "a\nb", "a\\b", "\\0", "\\", "\\t", "\\n\\", "a\0b"])
  func everyTextComesBack(text: String) {
    var row = Self.row(text, directory: text, etag: text)
    row.fields.key = row.key.with(requested: text)
    row.fields.effectiveURL = text
    (row.fields.selection, row.fields.sum) = (text, text)
    #expect(JournalLine.decode(JournalLine.encode(row)) == [row])
  }

  /// Lines are filled up to a multiple of eight bytes.
  @Test func everyLengthComesBack() {
    for length in 0..<25 {
      for place in 0..<max(length, 1) {
        var text = Array(repeating: Character("a"), count: length)
        let plain = Self.row(String(text))
        #expect(JournalLine.decode(JournalLine.encode(plain)) == [plain])
        for special in ["\t", "\n", "\\", "\u{1F}"] as [Character] where length > 0 {
          text[place] = special
          let row = Self.row(String(text))
          #expect(JournalLine.decode(JournalLine.encode(row)) == [row])
        }
      }
    }
  }

  @Test(arguments: [0, 7, -1, 10, 99, 100, -1000, 99_999, 1_234_567_890, .max, .min] as [Int64])
  func everyNumberComesBack(number: Int64) {
    var row = Self.row()
    row.fields.identity = FileIdentity(device: number, inode: number, size: number, modified: number)
    (row.fields.fetchedAt, row.fields.usedAt, row.fields.status) = (number, number, Int(number))
    row.changed = ChangeTime(number: number)
    let line = JournalLine.encode(row)
    // What no row has is brought into bounds: it may be calculated with.
    (row.fields.fetchedAt, row.fields.usedAt) = (min(max(number, 0), 1 << 40), min(max(number, 0), 1 << 40))
    row.fields.identity.size = min(max(number, -1), 1 << 50)
    #expect(JournalLine.decode(line) == [row])
  }

  /// A line without room is no line, and nothing behind its bytes is touched; the next try finds room.
  @Test func aLineNeedsItsRoom() {
    let row = Self.row("日本", etag: "\"1\"")
    let whole = JournalLine.encode(row)
    for room in 0..<whole.count {
      var bytes = [UInt8](repeating: 0, count: whole.count + 16)
      let length = bytes.withUnsafeMutableBytes { JournalLine.write(row, into: .init(rebasing: $0[..<room])) }
      #expect(length == nil)
      #expect(bytes[room...].allSatisfy { $0 == 0 } && JournalLine.decode(bytes) == [])
      #expect(bytes.withUnsafeMutableBytes { JournalLine.write(row, into: $0) } == whole.count)
      #expect(Array(bytes.prefix(whole.count)) == whole)
    }
  }

  @Test func tornAndForeignLinesAreLeftOut() {
    let (one, two) = (JournalLine.encode(Self.row("a")), JournalLine.encode(Self.row("b")))
    #expect(JournalLine.decode(one + two.dropLast()).map(\.name) == ["a"])
    #expect(JournalLine.decode(one + Array("sixteen garbages".utf8) + two).map(\.name) == ["a", "b"])
    #expect(JournalLine.decode([]) == [])
    #expect(JournalLine.decode(Array(two.dropLast())) == [])
  }

  /// A power cut may leave zeros where a page was not written.
  @Test func linesWithZerosAreLeftOut() {
    let lines = ["a", "b", "c", "d"].map { JournalLine.encode(Self.row($0)) }
    var journal = Array(lines.joined())
    journal += [UInt8](repeating: 0, count: 100)
    let hole = lines[0].count + 30..<lines[0].count + lines[1].count + 5
    journal.replaceSubrange(hole, with: [UInt8](repeating: 0, count: hole.count))
    #expect(JournalLine.decode(journal).map(\.name) == ["a", "d"])
  }

  /// Its lines are in its file at once, whatever room the file began with, and each can be read again.
  @Test(arguments: [0, 100_000])
  func aLongJournal(room: Int) throws {
    let temporary = try TemporaryFolder()
    let folder = try Folder(temporary.filePath, mode: 0o700)
    let journal = CommitJournal(in: folder, secret, room: room)
    let names = (0..<2000).map { "\($0)" } + [String(repeating: "long", count: 50_000)]
    let places = names.map { name in journal.append(Self.row(name)) }
    let file = try #require(try temporary.names().first)
    #expect(JournalLine.decode(try temporary.read(file)).map(\.name) == names)
    #expect(places.map { $0.flatMap { journal.row(at: $0) }?.name } == names)
    #expect(journal.failure == nil)
    try journal.retire()
  }

  /// Its file cannot be made: nothing would be known of its files after a kill, which is told, and everything
  /// otherwise.
  @Test func aJournalInMemoryAlone() throws {
    let temporary = try TemporaryFolder()
    let path = temporary.filePath.appending("cache")
    let folder = try Folder(path, mode: 0o700)
    rmdir(path.string)
    let journal = CommitJournal(in: folder, secret)
    let place = journal.append(Self.row("a"))
    #expect(journal.failure?.cause == .errno(ENOENT))
    #expect(try journal.row(at: #require(place)) == Self.row("a"))
    let next = journal.append(Self.row("b"))
    #expect(try journal.row(at: #require(next)) == Self.row("b"))
    try journal.retire()
  }

  /// As where the disk becomes full, or the file system maps no files: what was written is kept in memory, and more.
  @Test func aFileThatCannotBeMapped() throws {
    let temporary = try TemporaryFolder()
    let folder = try Folder(temporary.filePath, mode: 0o700)
    let file = try folder.open("lines", O_WRONLY | O_CREAT)
    var lines = LineMemory(room: 0)
    #expect(throws: Errno.permissionDenied) { try lines.makeRoom(in: file) }
    let texts = (0..<2000).map { "line \($0)\n" }
    for text in texts {
      let place = try Self.add(text, to: &lines)
      #expect(String(decoding: lines.bytes(from: place), as: UTF8.self) == text)
    }
    #expect(String(decoding: lines.bytes(from: 0), as: UTF8.self) == texts.joined())
    #expect(throws: Errno.fileTooLarge) { while true { try lines.makeRoom(in: Descriptor.closed) } }
  }

  private static func add(_ text: String, to lines: inout LineMemory) throws(Errno) -> Int {
    while true {
      let place = lines.append { memory in
        guard memory.count >= text.utf8.count else { return nil }
        memory.copyBytes(from: text.utf8)
        return text.utf8.count
      }
      if let place { return place }
      try lines.makeRoom(in: Descriptor.closed)
    }
  }

  /// Its file was mapped, and cannot be made longer.
  @Test func linesOfAFileOutliveIt() throws {
    let temporary = try TemporaryFolder()
    let folder = try Folder(temporary.filePath, mode: 0o700)
    var lines = LineMemory(room: 0)
    try lines.makeRoom(in: folder.open("lines", O_RDWR | O_CREAT))
    _ = try Self.add("first", to: &lines)
    try lines.makeRoom(in: Descriptor.closed)
    #expect(String(decoding: lines.bytes(from: 0), as: UTF8.self) == "first")
    #expect(try temporary.text("lines").hasPrefix("first"))
  }

  @Test func itIsMadeAtTheFirstLineAndGoesWithTheBatch() throws {
    let temporary = try TemporaryFolder()
    let folder = try Folder(temporary.filePath, mode: 0o700)
    let journal = CommitJournal(in: folder, secret)
    try journal.retire()
    #expect(try temporary.names() == [])
    try journal.note(Self.row("a"))
    try journal.note(Self.row("b"))
    let name = try #require(try temporary.names().first)
    #expect(JournalLine.decode(try temporary.read(name)).map(\.name) == ["a", "b"])
    try journal.retire()
    #expect(try temporary.names() == [])
  }

  @Test func onlyJournalsOfTheDeadAreAdopted() throws {
    let temporary = try TemporaryFolder()
    let folder = try Folder(temporary.filePath, mode: 0o700)
    let living = CommitJournal(in: folder, secret)
    try living.note(Self.row("living"))
    do { try CommitJournal(in: folder, secret).note(Self.row("dead")) }
    var adopted: [String] = []
    try CommitJournal.forEachAbandoned(in: folder, secret) { adopted += JournalLine.decode($0).map(\.name) }
    #expect(adopted == ["dead"])
    #expect(try temporary.names().count == 1)
    try living.note(Self.row("still living"))
    try living.retire()
  }

  @Test func aJournalThatCannotBeTakenInStays() throws {
    struct Refused: Error {}
    let temporary = try TemporaryFolder()
    let folder = try Folder(temporary.filePath, mode: 0o700)
    do { try CommitJournal(in: folder, secret).note(Self.row("dead")) }
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
    #expect(try !folder.names(in: "cache").contains(IndexDatabase.fileName))
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
    line.fields.validator.etag = "\"never named\""
    do { try CommitJournal(in: cacheFolder, UserSecret(in: folder.filePath.appending("cache"))).note(line) }
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

extension CommitJournal {
  /// - Throws: why the line is in memory only.
  func note(_ row: CacheRow) throws {
    append(row)
    if let failure { throw failure }
  }
}

extension RowKey {
  /// The key with another folder or requested name.
  func with(directory: String? = nil, requested: String? = nil) -> RowKey {
    RowKey(
      address: address, directory: directory ?? self.directory,
      requested: requested ?? self.requested)
  }
}
