import DownloadModel
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

@Suite("Rows of finished files on their way into the index")
struct RowBatchTests {
  static func row(_ name: String = "x", directory: String = "/d", etag: String? = "\"v1\"") -> CacheRow {
    CacheRow(
      key: RowKey(address: "http://host/\(name)", directory: directory, requested: ""),
      name: name, wanted: name, identity: FileIdentity(device: 1, inode: 2, size: 3, modified: -4),
      changed: ChangeTime(number: 6),
      validator: Validator(etag: etag, lastModified: nil, date: "d"), fetchedAt: 5,
      freshness: FreshnessFields(cacheControl: "max-age=1", vary: "*"), effectiveURL: nil, digest: "sha256:00"
    )
  }

  @Test func theLastRowOfARequestCounts() {
    var batch = CacheResources.RowBatch()
    let old = Self.row("a", etag: "\"old\"")
    let new = Self.row("a", etag: "\"new\"")
    batch.add(old)
    batch.add(Self.row("b"))
    batch.add(new)
    #expect(batch[new.key] == new)
    #expect(batch[Self.row("c").key] == nil)
    #expect(batch[Self.row("a", directory: "/other").key] == nil)
    #expect(batch.rows == [old, Self.row("b"), new])
    #expect(!batch.isFull)
    for _ in 3..<CacheResources.RowBatch.limit { batch.add(new) }
    #expect(batch.isFull)
  }

  /// A claim lasts until the row is in the index: so a process that waits for it finds the row.
  @Test func theClaimOutlivesTheDownloadUntilTheRowIsWritten() async throws {
    let folder = try TemporaryFolder()
    let server = FakeServer()
    server.put("http://host/a", pattern(100))
    let claims = folder.filePath.appending("claims")
    let run = Run(in: folder, server, claimsFolder: claims)
    let other = try #require(ProcessClaims(in: claims))
    let hash = Self.row("a").key.claim(isIndexed: true)
    _ = try await run.get("http://host/a")
    #expect(throws: ProcessClaims.ClaimedElsewhere.self) { _ = try other.take(hash) }
    await run.cache.flush()
    _ = try other.take(hash)
    #expect(try await run.administration.entries(of: ["http://host/a"]).count == 1)
    #expect(await run.cache.close() == [])
  }

  /// A download that failed has no row to wait for.
  @Test func theClaimOfAFailureEndsAtOnce() async throws {
    let folder = try TemporaryFolder()
    let claims = folder.filePath.appending("claims")
    let run = Run(in: folder, FakeServer(), claimsFolder: claims)
    let other = try #require(ProcessClaims(in: claims))
    await #expect(throws: DownloadError.self) { _ = try await run.get("http://host/missing") }
    _ = try other.take(Self.row("missing").key.claim(isIndexed: true))
    _ = await run.cache.close()
  }

  /// Killed after files got their names and before their rows were written: each is downloaded once more, and keeps its
  /// name.
  @Test func filesOfAKilledRunAreRecognisedByTheirBytes() async throws {
    let folder = try TemporaryFolder()
    let server = FakeServer()
    for name in ["a", "b"] { server.put("http://host/\(name)", pattern(100)) }
    do {
      // Neither closed nor flushed: what SIGKILL leaves, once the descriptors are gone.
      let run = Run(in: folder, server)
      _ = try await run.get("http://host/a")
      await run.cache.flush()
      _ = try await run.get("http://host/b")
    }
    // Past a tick of the clock that stamps files: a younger file might be the new run's own.
    try await Task.sleep(for: .milliseconds(20))
    let next = Run(in: folder, server)
    #expect(try await next.get("http://host/a").kind == .unchanged)
    let again = try await next.get("http://host/b")
    #expect(again.kind == .fetched && again.remark == .sameAsHere)
    #expect(await next.cache.close() == [])
    #expect(try folder.names(in: "out") == ["a", "b"])
    #expect(try await Run(in: folder, server).getAndClose("http://host/b").kind == .unchanged)
  }

  /// A kill between the link of the final name and the removal of the part's (`StagedFile`), as the disk is then.
  @Test("killed while the file has both names")
  func bothNames() async throws {
    let folder = try TemporaryFolder()
    let body = pattern(2 << 20)
    let server = FakeServer()
    server.put("http://host/x", body)
    do { _ = try await Run(in: folder, server).get("http://host/x") }
    try folder.hardLink("out/x", as: "out/x.part")
    let secret = UserSecret(in: folder.filePath.appending("cache"))
    let held = HeldPart(validator: Validator(etag: "\"v1\""), total: Int64(body.count))
    let metadata = ResumeMetadata(address: "http://host/x", held: held, name: "x").json(secret)
    try folder.write(metadata, to: "out/x.part.json")
    #expect(try await Run(in: folder, server).getAndClose("http://host/x").remark == .sameAsHere)
    #expect(try folder.names(in: "out") == ["x"])
    #expect(try folder.read("out/x") == body)
  }

  /// A session of the library: the cancellation of one run ended the wait of all others, and of all later ones.
  @Test func aCancelledRunEndsNoOthersWait() async throws {
    let folder = try TemporaryFolder()
    let server = FakeServer()
    server.put("http://host/a", pattern(100))
    let run = Run(in: folder, server, servesManyRuns: true)
    _ = try await run.get("http://host/a")
    let other = try Connection(folder.path("cache/index.sqlite"), writes: true)
    try other.execute("BEGIN IMMEDIATE")
    let writing = Task { await run.cache.flush() }
    writing.cancel()
    // Longer than a try takes.
    try await Task.sleep(for: .milliseconds(200))
    try other.execute("COMMIT")
    await writing.value
    #expect(await run.cache.close() == [])
    #expect(try await run.administration.entries(of: ["http://host/a"]).count == 1)
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
