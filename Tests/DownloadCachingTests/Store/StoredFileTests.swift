import DownloadModel
import Glibc
import SystemPackage
import TestSupport
import Testing

@testable import DownloadCaching
@testable import FileReceiving

@Suite("What the store keeps outlives the user's files")
struct StoredFileTests {
  private static let address = "http://host/x"
  private static let body = pattern(5000)
  private let folder: TemporaryFolder
  private let server = FakeServer()

  init() throws {
    folder = try TemporaryFolder()
    server.put(Self.address, Self.body)
  }

  private func run(
    _ kind: StoreKind = .copy, offline: Bool = false, max: Int64? = nil, directory: String = "out",
    headerLines: [String] = [], now: Int64 = 784_111_777
  ) -> Run {
    var trust = Trust()
    trust.headerLines = headerLines
    return Run(
      in: folder, server, directory: directory, offline: offline, trust: trust, store: kind,
      maxStoreBytes: max, now: now)
  }

  private var entries: [String] {
    get throws { try folder.names(in: "cache/store").filter { $0 != "new" } }
  }

  private func secret() -> UserSecret { UserSecret(in: folder.filePath.appending("cache")) }

  @Test(arguments: [StoreKind.copy, .link])
  func aDeletedFileComesBackWithoutItsBody(kind: StoreKind) async throws {
    #expect(try await run(kind).getAndClose(Self.address).kind == .fetched)
    #expect(try entries.count == 1)
    for _ in 0..<2 {
      try folder.remove("out/x")
      let outcome = try await run(kind).getAndClose(Self.address)
      #expect(outcome.kind == .copied && outcome.transferred == 0)
      #expect(server.requests.last?.headerLines == ["If-None-Match: \"v1\""])
      #expect(try folder.read("out/x") == Self.body)
      #expect(try entries.count == 1)
    }
    try folder.remove("out/x")
    #expect(try await run(kind, offline: true).getAndClose(Self.address).kind == .copied)
    #expect(try folder.read("out/x") == Self.body)
    // Never the same file under both names: whoever writes to one in place would change the other.
    let copy = try #require(StandingFile.of(path: folder.path("out/x"))?.identity)
    let entry = try #require(StandingFile.of(path: folder.path("cache/store/\(entries[0])"))?.identity)
    #expect(!copy.isSameFile(as: entry))
  }

  @Test func none() async throws {
    _ = try await run(.none).getAndClose(Self.address)
    try folder.remove("out/x")
    #expect(try await run(.none).getAndClose(Self.address).kind == .fetched)
    #expect(try !folder.names(in: "cache").contains("store"))
  }

  /// HTTP rule 20. A hard link is changed through the user's file.
  @Test(arguments: [StoreKind.copy, .link])
  func aTouchedEntryIsNotServed(kind: StoreKind) async throws {
    _ = try await run(kind).getAndClose(Self.address)
    let path = kind == .link ? "out/x" : "cache/store/\(try entries[0])"
    let file = try FileDescriptor.open(folder.path(path), .readWrite)
    _ = try file.closeAfter { try file.writeAll(toAbsoluteOffset: 10, [0xff]) }
    try folder.remove("out/x")
    #expect(try await run(kind).getAndClose(Self.address).kind == .fetched)
    #expect(try folder.read("out/x") == Self.body)
    // What was fetched anew has taken its place.
    try folder.remove("out/x")
    #expect(try await run(kind).getAndClose(Self.address).kind == .copied)
    #expect(try folder.read("out/x") == Self.body)
    #expect(try entries.count == 1)
  }

  @Test func aNewVersionReplacesTheOld() async throws {
    _ = try await run().getAndClose(Self.address)
    server.put(Self.address, pattern(7000), etag: "\"v2\"")
    #expect(try await run().getAndClose(Self.address).kind == .fetched)
    try folder.remove("out/x")
    #expect(try await run().getAndClose(Self.address).kind == .copied)
    #expect(try folder.read("out/x") == pattern(7000))
    #expect(try entries.count == 1)
  }

  /// Eight rows were read, youngest first, and that of the store was none of them.
  @Test func manyFoldersThatAreGone() async throws {
    _ = try await run().getAndClose(Self.address)
    for number in 0..<12 {
      _ = try await run(.none, directory: "d\(number)", now: 784_111_777 + Int64(number)).getAndClose(
        Self.address)
    }
    for number in 0..<12 { try folder.remove("d\(number)/x") }
    try folder.remove("out/x")
    #expect(try await run(directory: "new").getAndClose(Self.address).kind == .copied)
  }

  /// The youngest version is asked about, wherever it stands.
  @Test func aYoungerFileElsewhereGoesFirst() async throws {
    _ = try await run().getAndClose(Self.address)
    try folder.remove("out/x")
    server.put(Self.address, pattern(7000), etag: "\"v2\"")
    _ = try await run(.none, directory: "other", now: 784_111_999).getAndClose(Self.address)
    _ = try await run(directory: "third").getAndClose(Self.address)
    #expect(server.requests.last?.headerLines == ["If-None-Match: \"v2\""])
  }

  /// Who turned `--store` on later never had the files in it that stood there.
  @Test(arguments: [StoreKind.copy, .link])
  func aFileThatIsConfirmedIsPutIn(kind: StoreKind) async throws {
    _ = try await run(.none).getAndClose(Self.address)
    #expect(try await run(kind).getAndClose(Self.address).kind == .unchanged)
    #expect(try entries.count == 1)
    let entry = StandingFile.of(path: folder.path("cache/store/\(try entries[0])"))?.identity
    // Once.
    #expect(try await run(kind).getAndClose(Self.address).kind == .unchanged)
    #expect(StandingFile.of(path: folder.path("cache/store/\(try entries[0])"))?.identity == entry)
    try folder.remove("out/x")
    #expect(try await run(kind, offline: true).getAndClose(Self.address).kind == .copied)
    #expect(try folder.read("out/x") == Self.body)
  }

  @Test func aConfirmedFileReplacesAnOlderEntry() async throws {
    _ = try await run().getAndClose(Self.address)
    server.put(Self.address, pattern(5000, seed: 2), etag: "\"v2\"")
    #expect(try await run(.none).getAndClose(Self.address).kind == .fetched)
    #expect(try await run().getAndClose(Self.address).kind == .unchanged)
    #expect(try entries.count == 1)
    #expect(try folder.read("cache/store/\(try entries[0])") == pattern(5000, seed: 2))
  }

  /// What waits for the store when a run is killed is put in by the next.
  @Test func whatARunThatWasKilledHadNotPutIn() async throws {
    do {
      let killed = run()
      _ = try await killed.get(Self.address)
      await killed.cache.flush()
    }
    #expect(try !folder.names(in: "cache").contains("store"))
    #expect(try await run().getAndClose(Self.address).kind == .unchanged)
    #expect(try entries.count == 1)
  }

  @Test func whatMayNotBeReusedIsNotKept() async throws {
    server.put(Self.address, Self.body, etag: nil)
    _ = try await run().getAndClose(Self.address)
    server.put("http://host/n", Self.body)
    _ = try await run(headerLines: ["Cache-Control: no-store"]).getAndClose("http://host/n")
    #expect(try !folder.names(in: "cache").contains("store"))
  }

  @Test(
    arguments: [
      ("\"v\"", nil, nil, nil, true), (nil, "max-age=60", nil, nil, true),
      (nil, nil, "Thu, 01 Dec 1994 16:00:00 GMT", nil, true), (nil, nil, nil, nil, false),
      ("\"v\"", nil, nil, "*", false), ("\"v\"", nil, nil, "Accept", true),
    ] as [(String?, String?, String?, String?, Bool)])
  func whatIsWorthKeeping(
    etag: String?, control: String?, expires: String?, vary: String?, isWorth: Bool
  ) {
    var row = RowBatchTests.row(etag: etag)
    row.fields.validator = Validator(etag: etag)
    row.fields.freshness = FreshnessFields(cacheControl: control, expires: expires, vary: vary)
    #expect(StoreKeeper.isWorthKeeping(row) == isWorth)
    row.fields.identity.size = 0
    #expect(!StoreKeeper.isWorthKeeping(row))
  }

  /// The name that `-o` gave one request is not that of the next.
  @Test func aChosenNameIsNotKept() async throws {
    _ = try await run().getAndClose(Self.address, output: "chosen")
    try folder.remove("out/chosen")
    let outcome = try await run().getAndClose(Self.address)
    #expect(outcome.kind == .copied && outcome.path.hasSuffix("/x"))
  }

  /// A further name changes a file. What one loop puts in must be in the index before, which that loop's own rows are:
  /// a loop that put in another's files left rows behind that said they were touched.
  @Test func eachLoopPutsInItsOwnFiles() async throws {
    server.put("http://host/y", Self.body)
    let first = run(.link)
    let second = first.onAnotherLoop()
    _ = try await first.get(Self.address)
    _ = try await second.get("http://host/y")
    await second.cache.writeRows()
    for run in [first, second] { #expect(await run.cache.close() == []) }
    #expect(try entries.count == 2)
    #expect(try await first.administration.list().map(\.condition) == [.intact, .intact])
    _ = await first.administration.close()
    for name in ["x", "y"] {
      #expect(try await run(.link).getAndClose("http://host/\(name)").kind == .unchanged)
    }
    #expect(try folder.names(in: "out").sorted() == ["x", "y"])
  }

  // MARK: Bounds

  @Test func whatWasUsedLeastRecentlyGoes() async throws {
    for (number, name) in ["a", "b", "c"].enumerated() {
      server.put("http://host/\(name)", pattern(4096 * 3))
      _ = try await run(max: 40_000, now: 1000 + Int64(number)).getAndClose("http://host/\(name)")
    }
    #expect(try entries.count == 3)
    // The first is used.
    try folder.remove("out/a")
    #expect(try await run(max: 40_000, now: 2000).getAndClose("http://host/a").kind == .copied)
    server.put("http://host/d", pattern(4096 * 3))
    _ = try await run(max: 40_000, now: 3000).getAndClose("http://host/d")
    #expect(try entries.count == 2)
    for (name, kind) in [
      ("a", DownloadOutcome.Kind.copied), ("d", .copied), ("b", .fetched), ("c", .fetched),
    ] {
      try folder.remove("out/\(name)")
      #expect(try await run(.none).getAndClose("http://host/\(name)").kind == kind, "\(name)")
    }
  }

  @Test func whatIsLargerThanAllIsNotPutIn() async throws {
    _ = try await run(max: 4096).getAndClose(Self.address)
    #expect(try !folder.names(in: "cache").contains("store"))
  }

  @Test func pruningToASize() async throws {
    for (number, name) in ["a", "b", "c"].enumerated() {
      server.put("http://host/\(name)", pattern(4096))
      _ = try await run(now: 1000 + Int64(number)).getAndClose("http://host/\(name)")
    }
    let administration = CacheAdministration(folder.filePath.appending("cache"))
    let freed = try await administration.prune(storeTo: 10_000)
    #expect(freed.entries == 1 && freed.bytes == 4096)
    #expect(try await administration.prune(storeTo: 10_000).entries == 0)
    #expect(try await administration.status().entries == 3)
    _ = await administration.close()
    #expect(try entries.count == 2)
    try folder.remove("out/a")
    #expect(try await run(.none).getAndClose("http://host/a").kind == .fetched)
  }

  @Test func clearing() async throws {
    _ = try await run().getAndClose(Self.address)
    try folder.write("foreign", to: "cache/store/notes")
    let administration = CacheAdministration(folder.filePath.appending("cache"))
    _ = try await administration.clear()
    _ = await administration.close()
    #expect(try entries == ["notes"])
    #expect(try folder.read("out/x") == Self.body)
    try folder.remove("out/x")
    #expect(try await run().getAndClose(Self.address).kind == .fetched)
  }

  /// `dlm clear-cache` said "2 files forgotten" of one file whose bytes the store had too.
  @Test(arguments: ["clear", "clear address", "remove", "prune"])
  func aFileAndItsCopyInTheStoreAreOneFile(how: String) async throws {
    _ = try await run().getAndClose(Self.address)
    let administration = CacheAdministration(folder.filePath.appending("cache"))
    #expect(try await administration.status().entries == 1)
    let freed =
      switch how {
      case "clear": try await administration.clear()
      case "clear address": try await administration.clear([Self.address])
      case "remove": try await administration.removeWritten()
      default: try await administration.prune(usedBefore: .max)
      }
    _ = await administration.close()
    #expect(freed.entries == 1)
    #expect(try entries.isEmpty == (how != "remove"), "the store is swept when space is given back")
  }

  /// Entries of an index that is gone are nobody's.
  @Test func entriesThatNoRowKnowsGo() async throws {
    _ = try await run().getAndClose(Self.address)
    try folder.remove("cache/index.sqlite")
    server.put("http://host/y", Self.body)
    _ = try await run().getAndClose("http://host/y")
    #expect(try entries.count == 1)
  }

  /// An entry that is being copied is readable to its end, though it is evicted meanwhile.
  @Test func evictionBesideACopy() async throws {
    _ = try await run().getAndClose(Self.address)
    let path = folder.path("cache/store/\(try entries[0])")
    let copying = try FileDescriptor.open(path, .readOnly)
    let administration = CacheAdministration(folder.filePath.appending("cache"))
    #expect(try await administration.prune(storeTo: 0).entries == 1)
    _ = await administration.close()
    var bytes = [UInt8](repeating: 0, count: 6000)
    let count = try copying.closeAfter { try bytes.withUnsafeMutableBytes { try copying.read(into: $0) } }
    #expect(Array(bytes.prefix(count)) == Self.body)
  }

  /// Between the look at an entry and its copy it is evicted: the file is fetched.
  @Test func evictionBeforeTheCopy() async throws {
    _ = try await run().getAndClose(Self.address)
    try folder.remove("out/x")
    let (run, server, folder) = (run(), server, folder)
    let request = DownloadRequest(id: 0, address: try Address(Self.address))
    let outcome = try await run.get(request) { download throws(DownloadError) in
      for name in (try? folder.names(in: "cache/store")) ?? [] { try? folder.remove("cache/store/\(name)") }
      return try server.fetch(download)
    }
    _ = await run.cache.close()
    #expect(outcome.kind == .fetched)
    #expect(try folder.read("out/x") == Self.body)
  }

  /// Rows that were used least recently go, with the store's files.
  @Test func theIndexIsBounded() async throws {
    let index = try CacheIndex(at: folder.filePath.appending("cache"), secret(), now: { 7 })
    try folder.write("x", to: "there/file")
    let file = try #require(StandingFile.of(path: folder.path("there/file")))
    let rows = (0..<2000).map { number in
      var row = RowBatchTests.row("\(number)", directory: folder.path("there"))
      row.fields.name = "file"
      (row.fields.identity, row.changed) = (file.identity, ChangeTime(of: file))
      row.fields.usedAt = Int64(number)
      return row
    }
    await index.write(rows)
    await index.keepWithinBound()
    #expect(try await index.status().entries == 2000)
    await index.write([])
    await index.keepWithinBound(bound: 100_000)
    let left = try await index.rows(after: nil, limit: 3000)
    await index.close()
    #expect(left.count > 200 && left.count < 1900, "\(left.count)")
    #expect(Set(left.map(\.usedAt)) == Set((2000 - left.count..<2000).map { Int64($0) }))
  }
}
