import Glibc
import SystemPackage
import TestSupport
import Testing

@testable import DownloadCaching
@testable import FileReceiving

@Suite("The store's files")
struct FileStoreTests {
  private let temporary: TemporaryFolder
  private let secret = UserSecret.forThisProcess()
  private let folder: Folder

  init() throws {
    temporary = try TemporaryFolder()
    folder = try Folder(temporary.filePath.appending("cache"), mode: 0o700)
  }

  private func store() -> FileStore { FileStore(in: folder, secret) }

  /// A finished file of the user's.
  private func file(_ name: String = "x", _ text: String = "text") throws -> CacheRow {
    try temporary.write(text, to: "out/\(name)")
    var row = RowBatchTests.row(name, directory: temporary.path("out"))
    try row.describeStanding()
    return row
  }

  private func names() throws -> [String] {
    try temporary.names(in: "cache/store").filter { $0 != "new" }
  }

  private func drafts() throws -> [String] {
    try StandingFile.of(path: temporary.path("cache/store/new")) == nil
      ? [] : temporary.names(in: "cache/store/new")
  }

  @Test(arguments: [StoreKind.copy, .link])
  func aFileIsPutInAndReplaced(kind: StoreKind) throws {
    let store = store()
    for text in ["first", "second", "second"] {
      let row = try file("x", text)
      let entry = try #require(try store.put(row, by: kind))
      #expect(entry.isIntact && entry.key.isStored)
      #expect(entry.validator == row.validator && entry.key.address == row.key.address)
      #expect(try names() == [entry.name])
      #expect(try temporary.text("cache/store/\(entry.name)") == text)
      #expect(entry.identity.isSameFile(as: row.identity) == (kind == .link))
      #expect(try drafts() == [])
      var status = stat()
      #expect(stat(temporary.path("cache/store"), &status) == 0 && status.st_mode & 0o777 == 0o700)
      if kind == .copy { #expect(stat(entry.path, &status) == 0 && status.st_mode & 0o777 == 0o600) }
    }
    #expect(try temporary.text("out/x") == "second")
  }

  /// HTTP rule 30: a login makes no file of its own, here neither.
  @Test func addressesHaveTheirOwn() throws {
    let (store, row) = (store(), try file())
    var other = row
    other.fields.trust = TrustMark(text: "someone")
    let entries = [
      try store.put(row, by: .copy), try store.put(other, by: .copy),
      try store.put(try file("y"), by: .copy),
    ].compactMap(\.self)
    #expect(entries.count == 3 && Set(entries.map(\.name)).count == 2)
    #expect(try store.names().count == 2)
  }

  @Test(arguments: [StoreKind.copy, .link])
  func aTouchedOrMissingFileIsNotPutIn(kind: StoreKind) throws {
    let (store, row) = (store(), try file())
    try temporary.write("other", to: "out/x")
    #expect(try store.put(row, by: kind) == nil)
    try temporary.remove("out/x")
    #expect(try store.put(row, by: kind) == nil)
    try temporary.link("out/x", to: "/etc/passwd")
    #expect(try store.put(row, by: kind) == nil)
    #expect(try names() == [] && drafts() == [])
  }

  /// What a kill left goes; what a living process holds, and what is not dlm's, stays.
  @Test func abandonedDraftsAreRemoved() throws {
    let row = try file()
    _ = try store().put(row, by: .copy)
    let left = secret.freshName("store draft")
    let held = secret.freshName("store draft")
    for name in [left, held, "foreign"] { try temporary.write("draft", to: "cache/store/new/\(name)") }
    let draft = try Folder(temporary.filePath.appending("cache/store/new"), mode: 0o700).open(held, O_RDWR)
    let isLocked = draft.lock()
    #expect(isLocked)
    _ = try store().put(row, by: .copy)
    #expect(try drafts() == ["foreign", held].sorted())
    draft.unlock()
    _ = try store().put(row, by: .copy)
    #expect(try drafts() == ["foreign"])
  }

  @Test func onlyItsOwnFilesAreRemoved() throws {
    let store = store()
    let entry = try #require(try store.put(try file(), by: .link))
    try temporary.write("foreign", to: "cache/store/notes")
    try temporary.write("foreign", to: "cache/store/\(String(repeating: "0", count: 32))-1")
    let another = FileStore(in: folder, .forThisProcess())
    #expect(try another.names() == [])
    try another.clear([entry.name])
    #expect(try store.names() == [entry.name])
    try store.clear(["notes", entry.name])
    #expect(try store.names() == [] && names().count == 2)
    #expect(try temporary.text("out/x") == "text")
    try FileStore(in: Folder(temporary.filePath, mode: 0o700), secret).clear([entry.name])
    #expect(try temporary.names() == ["cache", "out"], "looking makes no folder")
  }

  @Test func anEntryIsRemovedUnlessItWasReplaced() throws {
    let store = store()
    let old = try #require(try store.put(try file("x", "old"), by: .copy))
    let new = try #require(try store.put(try file("x", "new"), by: .copy))
    #expect(try store.remove(old) { _ in } == 0)
    #expect(new.isIntact)
    #expect(try store.remove(new) { _ in } == 4096)
    #expect(try store.remove(new) { _ in } == 0)
    var foreign = new
    foreign.fields.name = "notes"
    try temporary.write("foreign", to: "cache/store/notes")
    try foreign.describeStanding()
    #expect(try store.remove(foreign) { _ in } == 0)
    #expect(try names() == ["notes"])
  }
}
