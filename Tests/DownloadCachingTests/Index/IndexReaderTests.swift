import DownloadModel
import SystemPackage
import TestSupport
import Testing

@testable import DownloadCaching
@testable import FileReceiving

@Suite("A cache actor's own connection to the index")
struct IndexReaderTests {
  private let folder: TemporaryFolder
  private let index: CacheIndex

  init() throws {
    folder = try TemporaryFolder()
    let path = folder.filePath.appending("cache")
    index = try CacheIndex(at: path, UserSecret(in: path), now: { 7 })
  }

  /// - Parameter rows: what the index holds.
  private func reader(_ rows: [CacheRow]) async throws -> IndexReader {
    await index.write(rows)
    let path = try #require(await index.openPath())
    return try #require(IndexReader(path: path))
  }

  private func rows(_ count: Int) -> [CacheRow] {
    (0..<count).map { number in
      var row = RowBatchTests.row("x", directory: "/\(number)")
      row.fields.fetchedAt = Int64((number * 7) % 10)
      return row
    }
  }

  @Test func itFindsWhatTheIndexFinds() async throws {
    var full = RowBatchTests.row("x", directory: "/full")
    full.fields.key = full.key.with(requested: "chosen")
    full.fields.name = "other"
    full.fields.validator = Validator(etag: "\"v2\"", lastModified: "l", date: nil)
    full.fields.freshness = FreshnessFields(cacheControl: nil, expires: "e", age: "a", vary: nil)
    (full.fields.effectiveURL, full.fields.selection, full.fields.digest) = ("http://mirror/x", "s", nil)
    (full.fields.fetchedAt, full.fields.usedAt, full.fields.status) = (1 << 40, 0, 203)
    var ofAnother = RowBatchTests.row("x", directory: "/full")
    ofAnother.fields.key = ofAnother.key.with(requested: "mine")
    ofAnother.fields.trust = TrustMark(text: "!someone")
    let reader = try await reader(rows(3) + [full, ofAnother, RowBatchTests.row("y"), RowBatchTests.row("")])
    for row in rows(3) + [full, ofAnother, RowBatchTests.row("y"), RowBatchTests.row("")] {
      let expected = await index.rows(row.key)
      #expect(reader.rows(row.key) == expected)
      #expect(expected.first == row)
      #expect(reader.own(row.key) == row)
    }
    let unknown = RowBatchTests.row("x", directory: "/unknown").key
    let others = await index.rows(unknown)
    #expect(others.count == 5)
    #expect(reader.rows(unknown) == others)
    #expect(reader.own(unknown) == nil)
    #expect(reader.rows(RowBatchTests.row("unknown").key) == [])
  }

  @Test func manyFoldersAreLeftToTheIndex() async throws {
    let reader = try await reader(rows(9))
    #expect(reader.rows(rows(1)[0].key)?.count == 9)
    await index.write(rows(10))
    reader.endTransaction()
    #expect(reader.rows(rows(1)[0].key)?.count == nil)
    // That was no failure.
    await index.write([RowBatchTests.row("y")])
    reader.endTransaction()
    #expect(reader.rows(RowBatchTests.row("y").key)?.count == 1)
  }

  /// Several lookups see one state of the index, so that they cost two locks together.
  @Test func aTransactionLastsUntilItIsEnded() async throws {
    let reader = try await reader([RowBatchTests.row("x")])
    #expect(!reader.isInTransaction)
    #expect(reader.rows(RowBatchTests.row("y").key) == [])
    #expect(reader.isInTransaction)
    await index.write([RowBatchTests.row("y")])
    #expect(reader.rows(RowBatchTests.row("y").key) == [])
    reader.endTransaction()
    #expect(!reader.isInTransaction)
    #expect(reader.rows(RowBatchTests.row("y").key) == [RowBatchTests.row("y")])
  }

  @Test func whatItCannotReadIsLeftToTheIndex() async throws {
    let reader = try await reader([RowBatchTests.row("x"), RowBatchTests.row("y")])
    let database = try Connection(folder.path("cache/index.sqlite"), writes: true)
    try database.execute("UPDATE file SET inode = 'many' WHERE name = 'x'")
    #expect(reader.rows(RowBatchTests.row("x").key) == nil)
    #expect(reader.rows(RowBatchTests.row("y").key) == [RowBatchTests.row("y")])
    reader.endTransaction()
    try database.execute("DROP TABLE file")
    #expect(reader.rows(RowBatchTests.row("y").key) == nil)
    database.close()
  }

  /// Rows are stored as they stand in lines, in which some bytes are written otherwise.
  @Test(arguments: ["", "日本", "a\tb", "a\nb", "a\\b", "\\0", "\\", "\\t", "-1", "\\n\\"])
  func everyTextIsFound(text: String) async throws {
    var row = RowBatchTests.row(text, directory: text, etag: text)
    row.fields.key = row.key.with(requested: text)
    row.fields.trust = TrustMark(text: text)
    (row.fields.effectiveURL, row.fields.selection, row.fields.status) = (text, text, nil)
    row.fields.identity = FileIdentity(device: .min, inode: .max, size: 0, modified: -10)
    let reader = try await reader([RowBatchTests.row("other"), row])
    #expect(reader.own(row.key) == row)
    #expect(reader.rows(row.key) == [row])
  }

  /// SQLite planned the lookup anew for each file, at twice the cost of a run, because the index of the
  /// store's rows might have been of use for the name that was bound.
  @Test func theOwnRowIsFoundByOnePlan() async throws {
    var stored = RowBatchTests.row("x")
    stored.fields.key = stored.key.with(requested: RowKey.stored)
    let all = rows(20) + [stored]
    let reader = try await reader(all)
    for row in all + all { #expect(reader.own(row.key) == row) }
    #expect(reader.own(RowBatchTests.row("y").key) == nil)
    #expect(reader.ownLookup.plansMade == 0)
  }

  @Test func thereIsNoneForAFileThatIsNoIndex() throws {
    try folder.write("garbage, not a database at all, and long enough to be looked at", to: "x")
    #expect(IndexReader(path: folder.path("x")) == nil)
    #expect(IndexReader(path: folder.path("missing")) == nil)
  }
}
