import DownloadModel
import SystemPackage
import TestSupport
import Testing

@testable import DownloadCaching
@testable import FileReceiving

@Suite("What other processes have committed and not yet put into the database (HTTP rule 19)")
struct LivingJournalsTests {
  private let secret = UserSecret.forThisProcess()
  private let temporary: TemporaryFolder
  private let folder: Folder
  private let claims: ProcessClaims
  private let journals: LivingJournals

  init() throws {
    temporary = try TemporaryFolder()
    folder = try Folder(temporary.filePath.appending("cache"), mode: 0o700)
    claims = try #require(ProcessClaims(in: temporary.filePath))
    journals = LivingJournals(in: folder, secret)
  }

  private static func row(_ name: String, _ directory: String = "/d", at time: Int64 = 5) -> CacheRow {
    var row = JournalTests.row(name, directory: directory)
    row.fields.fetchedAt = time
    return row
  }

  private func found(of key: RowKey) -> CacheRow? {
    journals.row(key, named: "none", made: claims.journalsMade)
  }

  private func find(_ name: String, _ directory: String = "/d") -> CacheRow? {
    found(of: Self.row(name, directory).key)
  }

  @Test func eachLineIsSeenAsItComes() throws {
    #expect(find("a") == nil)
    let journal = CommitJournal(in: folder, secret, claims)
    try journal.note(Self.row("a"))
    #expect(find("a") == Self.row("a"))
    #expect(find("b") == nil)
    for name in ["b", "c"] { try journal.note(Self.row(name)) }
    #expect(find("b") == Self.row("b"))
    #expect(find("c") == Self.row("c"))
    // The journal of the next batch is made before the last one goes.
    let next = CommitJournal(in: folder, secret, claims)
    try next.note(Self.row("d"))
    #expect(find("d") == Self.row("d"))
    try journal.retire()
    #expect(find("a") == nil)
    #expect(find("d") == Self.row("d"))
  }

  /// For each of ten thousand files it was, by every process.
  @Test func theFolderIsReadOnlyWhenAJournalWasMade() throws {
    let first = CommitJournal(in: folder, secret, claims)
    try first.note(Self.row("a"))
    #expect(find("a") != nil)
    let uncounted = CommitJournal(in: folder, secret)
    try uncounted.note(Self.row("b"))
    #expect(find("b") == nil)
    try first.note(Self.row("c"))
    #expect(find("c") != nil)
    #expect(find("b") == nil)
    #expect(journals.rows().contains(Self.row("b")))
    #expect(find("b") != nil)
  }

  /// A torn line is no row until the rest of it is there.
  @Test func aLineThatIsNotWhole() throws {
    let stem = "1-x"
    let name = "\(stem)-\(secret.tag("journal", stem)).log"
    let line = JournalLine.encode(Self.row("a"))
    let file = try folder.open(name, 0o102, mode: 0o600)
    try file.write(Array(line.prefix(20)))
    #expect(find("a") == nil)
    try file.write(Array(line.dropFirst(20)), at: 20)
    #expect(find("a") == Self.row("a"))
  }

  @Test func theOwnRowGoesFirstAndThenTheYoungest() throws {
    let (one, two) = (CommitJournal(in: folder, secret, claims), CommitJournal(in: folder, secret, claims))
    try one.note(Self.row("a", "/one", at: 9))
    try one.note(Self.row("a", "/two", at: 3))
    try two.note(Self.row("a", "/three", at: 7))
    try two.note(Self.row("a", "/two", at: 4))
    try two.note(Self.row("b", "/two", at: 8))
    #expect(find("a", "/two")?.fetchedAt == 4)
    // Of each journal its last line counts: lines are written in the order of time.
    #expect(find("a", "/four")?.fetchedAt == 4)
    let chosen = Self.row("a", "/two").key.with(requested: "name")
    #expect(found(of: chosen)?.key.requested == "")
  }

  @Test(arguments: ["a\tb", "a\nb", "a\\b", "\\0", "", "日本"])
  func everyKeyIsFound(text: String) throws {
    var row = Self.row("x", text)
    row.fields.key = row.key.with(requested: text)
    row.fields.trust = TrustMark(text: text)
    let journal = CommitJournal(in: folder, secret, claims)
    for other in ["p", "q"] { try journal.note(Self.row(other)) }
    try journal.note(row)
    #expect(found(of: row.key) == row)
  }

  /// More than are kept open, so that some are opened for each look.
  @Test func manyJournals() throws {
    let all = (0..<150).map { _ in CommitJournal(in: folder, secret, claims) }
    for (number, journal) in all.enumerated() { try journal.note(Self.row("\(number)")) }
    for number in all.indices { #expect(find("\(number)") != nil) }
    for journal in all[..<100] { try journal.retire() }
    for number in all.indices { #expect((find("\(number)") != nil) == (number >= 100)) }
  }
}
