import Dispatch
import DownloadModel
import SystemPackage
import TestSupport
import Testing

@testable import DownloadCaching
@testable import FileReceiving

extension DiskWorker {
  fileprivate func hold(_ isHeld: DispatchSemaphore, until mayGo: DispatchSemaphore) {
    isHeld.signal()
    mayGo.wait()
  }
}

@Suite("A run answers from memory, then from disk, then from the network")
struct DownloadCacheTests {
  private static let body = pattern(5000)
  private static let address = "http://host/x"

  private let folder: TemporaryFolder
  private let server = FakeServer()

  init() throws {
    folder = try TemporaryFolder()
    server.put(Self.address, Self.body)
  }

  @Test func theSecondRunFetchesNothing() async throws {
    let first = try await Run(in: folder, server).getAndClose(Self.address)
    #expect(first.kind == .fetched)
    let meter = TransferMeter()
    let run = Run(in: folder, server)
    let second = try await run.get(Self.address, meter: meter)
    #expect(second.kind == .unchanged && second.size == 5000 && second.transferred == 0)
    #expect(second.path == first.path)
    #expect(meter.position == 5000 && meter.total == 5000)
    #expect(server.requests.last?.headerLines == ["If-None-Match: \"v1\""])
    #expect(await run.cache.close() == [])
    #expect(try folder.names(in: "out") == ["x"])
    #expect(try folder.names(in: "cache").allSatisfy { !$0.hasSuffix(".log") })
  }

  /// `--fsync` of a small file, while the worker reads gigabytes for another one.
  @Test(.timeLimit(.minutes(hangMinutes))) func syncingDoesNotWaitForReading() async throws {
    let run = Run(in: folder, server, syncs: true)
    let (isHeld, mayGo) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let holder = Task { await run.cache.worker.hold(isHeld, until: mayGo) }
    await wait(for: isHeld)
    #expect(try await run.getAndClose(Self.address).kind == .fetched)
    mayGo.signal()
    await holder.value
  }

  @Test func aChangedFileIsReplacedInItsPlace() async throws {
    _ = try await Run(in: folder, server).getAndClose(Self.address)
    server.put(Self.address, pattern(7000), etag: "\"v2\"")
    let outcome = try await Run(in: folder, server).getAndClose(Self.address)
    #expect(outcome.kind == .fetched && outcome.renamedFrom == nil)
    #expect(try folder.read("out/x") == pattern(7000))
    #expect(try folder.names(in: "out") == ["x"])
    #expect(try await Run(in: folder, server).getAndClose(Self.address).kind == .unchanged)
  }

  /// HTTP rule 20: a touched file is not dlm's any more. It is neither trusted nor overwritten.
  @Test func aTouchedFileIsFetchedAnewBesideIt() async throws {
    _ = try await Run(in: folder, server).getAndClose(Self.address)
    try folder.write("edited", to: "out/x")
    let outcome = try await Run(in: folder, server).getAndClose(Self.address)
    #expect(outcome.kind == .fetched && outcome.path.hasSuffix("/x.1"))
    #expect(server.requests.last?.headerLines == [])
    #expect(try folder.text("out/x") == "edited")
    // From then on the new one is the known one.
    #expect(try await Run(in: folder, server).getAndClose(Self.address).path.hasSuffix("/x.1"))
    #expect(try folder.names(in: "out") == ["x", "x.1"])
  }

  /// When a file was last used decides what goes first; it is noted once a day, which costs no other hit
  /// anything.
  @Test(arguments: [(3600, false), (86_400, true), (-86_400, true)])
  func itsUseIsNoted(later: Int64, isNoted: Bool) async throws {
    _ = try await Run(in: folder, server).getAndClose(Self.address)
    let again = Run(in: folder, server, offline: true, now: 784_111_777 + later)
    #expect(try await again.getAndClose(Self.address).kind == .unchanged)
    let known = try await again.administration.entries(of: [Self.address])
    #expect(known.map(\.row.usedAt) == [784_111_777 + (isNoted ? later : 0)])
  }

  /// HTTP rule 30: it asks by the strong tag, and else fetches the file anew in the old one's place.
  @Test(arguments: [ConflictPolicy.overwrite, .skip, .rename], ["\"v1\"", "W/\"v1\"", nil])
  func anotherLoginGetsTheSameFile(policy: ConflictPolicy, etag: String?) async throws {
    server.put(Self.address, Self.body, etag: etag)
    func get(_ key: String) async throws -> DownloadOutcome {
      var trust = Trust()
      trust.headerLines = ["X-Key: \(key)"]
      return try await Run(in: folder, server, policy: policy, trust: trust).getAndClose(Self.address)
    }
    let isStrong = etag == "\"v1\""
    for key in ["a", "b", "a"] {
      let outcome = try await get(key)
      #expect(outcome.path.hasSuffix("/x") && outcome.renamedFrom == nil)
      #expect(outcome.kind == (isStrong && server.requests.count > 1 ? .unchanged : .fetched))
      #expect(try folder.names(in: "out") == ["x"])
    }
    #expect(server.requests.map { $0.headerLines.count } == (isStrong ? [0, 1, 1] : [0, 0, 0]))
  }

  /// A copy has the wrong bytes, so its row is taken back at once, in a batch of rows. The row of the file that was
  /// fetched instead goes with it: the journal that holds its line is removed with that batch.
  @Test func aFileIsKnownBeforeABadCopyIsTakenBack() async throws {
    server.put(Self.address, pattern(5000, seed: 2))
    _ = try await Run(in: folder, server, directory: "bad").getAndClose(Self.address)
    server.put(Self.address, Self.body)
    let run = Run(in: folder, server)
    let request = DownloadRequest(
      id: 0, address: try Address(Self.address), wishes: .init(checksum: ContentHasher.digest(of: Self.body)))
    let outcome = try await run.get(request) { [server] download throws(DownloadError) in try server.fetch(download) }
    #expect(outcome.kind == .fetched)
    #expect(try folder.read("out/x") == Self.body)
    // Before the run ends, which would write what is left.
    let known = try await run.administration.entries(of: [Self.address])
    #expect(known.map { $0.path.removingLastComponent().lastComponent } == ["bad", "out"])
    #expect(known.map(\.row.validator.isEmpty) == [true, false])
    _ = await run.administration.close()
    _ = await run.cache.close()
  }

  @Test func aRemovedFileIsFetchedAnew() async throws {
    _ = try await Run(in: folder, server).getAndClose(Self.address)
    try folder.remove("out/x")
    #expect(try await Run(in: folder, server).getAndClose(Self.address).kind == .fetched)
    #expect(try folder.names(in: "out") == ["x"])
  }

  @Test func refreshFetchesEvenWhatIsUnchanged() async throws {
    _ = try await Run(in: folder, server).getAndClose(Self.address)
    let outcome = try await Run(in: folder, server, refresh: true).getAndClose(Self.address)
    #expect(outcome.kind == .fetched && outcome.renamedFrom == nil)
    #expect(try folder.names(in: "out") == ["x"])
  }

  @Test(arguments: ["cache", nil])
  func theSameAddressAgainInOneRunIsAnsweredFromMemory(cacheFolder: String?) async throws {
    let run = Run(in: folder, server, cacheFolder: cacheFolder)
    _ = try await run.get(Self.address)
    let again = try await run.get(Self.address)
    #expect(again.kind == .unchanged && again.size == 5000)
    #expect(server.requests.count == 1)
    // Unless it is gone or touched.
    try folder.write("edited by hand", to: "out/x")
    #expect(try await run.get(Self.address).path.hasSuffix("/x.1"))
    #expect(server.requests.count == 2)
    _ = await run.cache.close()
  }

  @Test func anotherNameForTheSameAddressIsCopiedAfterA304() async throws {
    _ = try await Run(in: folder, server).getAndClose(Self.address)
    let outcome = try await Run(in: folder, server).getAndClose(Self.address, output: "y")
    #expect(outcome.kind == .copied && outcome.transferred == 0 && outcome.size == 5000)
    #expect(try folder.read("out/y") == Self.body)
    // Each name has its own row now.
    #expect(try await Run(in: folder, server).getAndClose(Self.address, output: "y").kind == .unchanged)
    #expect(try await Run(in: folder, server).getAndClose(Self.address).kind == .unchanged)
    #expect(try folder.names(in: "out") == ["x", "y"])
  }

  /// How the first run named a file, and how the second wants it named. The same name is the same file.
  @Test(
    arguments: [(nil, "x"), ("x", nil), ("x", "x"), ("y", nil), (nil, "y"), ("y", "x")] as [(String?, String?)],
    [false, true])
  func namesOfTwoRuns(names: (first: String?, second: String?), changes: Bool) async throws {
    let (first, second) = (names.first ?? "x", names.second ?? "x")
    _ = try await Run(in: folder, server).getAndClose(Self.address, output: names.first)
    let body = changes ? pattern(7000) : Self.body
    if changes { server.put(Self.address, body, etag: "\"v2\"") }
    let outcome = try await Run(in: folder, server).getAndClose(Self.address, output: names.second)
    #expect(outcome.name == second && (outcome.transferred > 0) == changes)
    #expect(try folder.names(in: "out") == Set([first, second]).sorted())
    #expect(try folder.read("out/\(second)") == body)
    for output in first == second ? [names.first, names.second] : [names.second] {
      let again = try await Run(in: folder, server).getAndClose(Self.address, output: output)
      #expect(again.name == output ?? "x" && again.transferred == 0)
    }
    #expect(try folder.names(in: "out") == Set([first, second]).sorted())
  }

  /// The same where the server chooses the name, which a request without one learns by the answer.
  @Test(arguments: [false, true])
  func namesOfTheServer(givenFirst: Bool) async throws {
    let outputs: [String?] = givenFirst ? ["report.pdf", nil] : [nil, "report.pdf", nil]
    for (version, output) in outputs.enumerated() {
      let body = pattern(5000 + version)
      server.put(Self.address, body, etag: "\"v\(version)\"", disposition: "attachment; filename=report.pdf")
      #expect(try await Run(in: folder, server).getAndClose(Self.address, output: output).kind == .fetched)
      #expect(try folder.names(in: "out") == ["report.pdf"] && folder.read("out/report.pdf") == body)
    }
    let last = try await Run(in: folder, server).getAndClose(Self.address, output: "report.pdf")
    #expect(last.kind == .unchanged)
  }

  /// A checksum that comes with another name is compared with the file that is there.
  @Test(arguments: [true, false])
  func aChecksumUnderAnotherName(isRight: Bool) async throws {
    _ = try await Run(in: folder, server).getAndClose(Self.address)
    let digest = ContentHasher.digest(of: isRight ? Self.body : [])
    let request = DownloadRequest(
      id: 0, address: try Address(Self.address), wishes: .init(outputName: "x", checksum: digest))
    let run = Run(in: folder, server)
    let get = { [server] in
      try await run.get(request) { download throws(DownloadError) in try server.fetch(download) }
    }
    if isRight {
      let outcome = try await get()
      #expect(outcome.kind == .unchanged && outcome.proof == .digest && server.requests.count == 1)
    } else {
      let error = await #expect(throws: DownloadError.self) { _ = try await get() }
      #expect(error?.code == .digest)
    }
    _ = await run.cache.close()
    #expect(try folder.names(in: "out") == (isRight ? ["x"] : ["x", "x.rejected"]))
  }

  @Test func anotherFolderIsCopiedInto() async throws {
    let large = pattern(3 << 20)
    server.put(Self.address, large, disposition: "attachment; filename=report.pdf")
    server.put("http://host/y", large)
    _ = try await Run(in: folder, server).getAndClose("http://host/y")
    let outcome = try await Run(in: folder, server, directory: "elsewhere").getAndClose("http://host/y")
    #expect(outcome.kind == .copied && outcome.path.hasSuffix("/elsewhere/y"))
    #expect(try folder.read("elsewhere/y") == large)
    #expect(try folder.names(in: "elsewhere") == ["y"])
    #expect(
      try await Run(in: folder, server, directory: "elsewhere").getAndClose("http://host/y").kind
        == .unchanged)
  }

  @Test func aTouchedFileElsewhereIsNotCopied() async throws {
    _ = try await Run(in: folder, server).getAndClose(Self.address)
    try folder.write("edited", to: "out/x")
    let outcome = try await Run(in: folder, server, directory: "elsewhere").getAndClose(Self.address)
    #expect(outcome.kind == .fetched)
    #expect(try folder.read("elsewhere/x") == Self.body)
  }

  @Test func offlineAnswersFromTheDiskOrNotAtAll() async throws {
    let error = await #expect(throws: DownloadError.self) {
      _ = try await Run(in: folder, server, offline: true).get(Self.address)
    }
    #expect(error?.code == .cache && error?.isTransient == false && error?.address == Self.address)
    _ = try await Run(in: folder, server).getAndClose(Self.address)
    #expect(try await Run(in: folder, server, offline: true).getAndClose(Self.address).kind == .unchanged)
    let copied = try await Run(in: folder, server, directory: "elsewhere", offline: true).getAndClose(
      Self.address)
    #expect(copied.kind == .copied)
    #expect(try folder.read("elsewhere/x") == Self.body)
    #expect(server.requests.count == 1)
  }

  @Test func skippingAKnownNameAsksNobody() async throws {
    let run = Run(in: folder, server, policy: .skip, useContentDisposition: false)
    _ = try await run.get("http://host/x", output: "y")
    try folder.write("mine", to: "out/x")
    let outcome = try await run.get(Self.address)
    #expect(outcome.kind == .skipped && outcome.size == 4)
    #expect(server.requests.count == 1)
    _ = await run.cache.close()
  }

  /// HTTP rule 18: entries made with credentials serve only those credentials.
  @Test func credentialsKeepFilesApart() async throws {
    server.put("http://host/x", Self.body)
    _ = try await Run(in: folder, server).getAndClose("http://user:secret@host/x")
    #expect(try await Run(in: folder, server).getAndClose("http://user:secret@host/x").kind == .unchanged)
    #expect(
      try await Run(in: folder, server, offline: true).getAndClose("http://user:secret@host/x").kind
        == .unchanged)
    for stranger in ["http://host/x", "http://user:other@host/x"] {
      await #expect(throws: DownloadError.self) {
        _ = try await Run(in: folder, server, offline: true).getAndClose(stranger)
      }
    }
    await #expect(throws: DownloadError.self) {
      var trust = Trust()
      trust.headerLines = ["Authorization: Bearer t"]
      _ = try await Run(in: folder, server, offline: true, trust: trust).getAndClose(
        "http://user:secret@host/x")
    }
    for name in try folder.names(in: "cache") {
      let bytes = try folder.read("cache/" + name)
      #expect(!String(decoding: bytes, as: UTF8.self).contains("secret"))
    }
  }

  @Test func aUsersNameThatIsNoneIsRefused() async throws {
    for name in ["a/b", "..", "", "x.part.json"] {
      let error = await #expect(throws: DownloadError.self) {
        _ = try await Run(in: folder, server).get(Self.address, output: name)
      }
      #expect(error?.code == .conflict && error?.path == name)
    }
    #expect(server.requests.isEmpty)
  }

  @Test func anInterruptedRunIsResumedByTheNext() async throws {
    let large = pattern(3 << 20)
    server.put(Self.address, large)
    server.cutNext(after: 2_000_000)
    let run = Run(in: folder, server)
    await #expect(throws: DownloadError.lost) { _ = try await run.get(Self.address) }
    _ = await run.cache.close()
    #expect(try folder.names(in: "out") == ["x.part", "x.part.json"])
    let outcome = try await Run(in: folder, server).getAndClose(Self.address)
    #expect(outcome.resumed == 2_000_000 && outcome.transferred == Int64(large.count) - 2_000_000)
    #expect(try folder.read("out/x") == large)
    #expect(try folder.names(in: "out") == ["x"])
  }

  @Test func aFailedFileLeavesNothingBehind() async throws {
    let run = Run(in: folder, server)
    let error = await #expect(throws: DownloadError.self) { _ = try await run.get("http://host/none") }
    #expect(error?.cause == .http(status: 404))
    _ = await run.cache.close()
    #expect(try folder.names(in: "out") == [])
  }

  @Test func aFolderThatCannotBeMadeFailsEachFile() async throws {
    try folder.write("a file", to: "out")
    let run = Run(in: folder, server)
    for _ in 0..<2 {
      let error = await #expect(throws: DownloadError.self) { _ = try await run.get(Self.address) }
      #expect(error?.code == .folder)
    }
  }

  /// More files than a batch holds, in one run and the next; and what memory keeps is bounded.
  @Test func manyFiles() async throws {
    let count = CacheResources.RowBatch.limit + 10
    for number in 0..<count { server.put("http://host/\(number)", pattern(number % 7)) }
    for expected in [DownloadOutcome.Kind.fetched, .unchanged] {
      let run = Run(in: folder, server)
      for number in 0..<count { #expect(try await run.get("http://host/\(number)").kind == expected) }
      #expect(await !run.cache.isBatchFull)
      #expect(await run.cache.close() == [])
    }
    #expect(try folder.names(in: "out").count == count)
    #expect(try await Run(in: folder, server).administration.status().entries == count)
  }

  /// The index was empty when this run began, so nobody asks it before a transfer; at a conflict it is asked.
  @Test func afterItsOwnFirstBatchARunStillKnowsItsFiles() async throws {
    let run = Run(in: folder, server)
    await run.cache.remember(atMost: 10)
    _ = try await run.get(Self.address)
    for number in 0..<CacheResources.RowBatch.limit {
      server.put("http://host/f\(number)", [])
      _ = try await run.get("http://host/f\(number)")
    }
    #expect(await !run.cache.isBatchFull)
    let outcome = try await run.get(Self.address)
    #expect(outcome.kind == .fetched && outcome.renamedFrom == nil)
    _ = await run.cache.close()
    #expect(try !folder.names(in: "out").contains("x.1"))
  }

  /// HTTP rule 20: a 304 vouches for the server's file. What was here may have gone while it was asked.
  @Test(arguments: ["removed", "edited"])
  func a304ForAFileThatIsGone(how: String) async throws {
    _ = try await Run(in: folder, server).getAndClose(Self.address)
    let run = Run(in: folder, server)
    let request = DownloadRequest(id: 0, address: try Address(Self.address))
    let (origin, place) = (server, folder)
    let outcome = try await run.get(request) { target throws(DownloadError) in
      let isFirst = origin.requests.count == 1
      let receipt = try origin.fetch(target)
      if isFirst { Self.touch(place, how) }
      return receipt
    }
    _ = await run.cache.close()
    #expect(outcome.kind == .fetched)
    #expect(server.requests.last?.headerLines == [])
    #expect(try folder.names(in: "out") == (how == "removed" ? ["x"] : ["x", "x.1"]))
  }

  private static func touch(_ folder: TemporaryFolder, _ how: String) {
    do {
      if how == "removed" { try folder.remove("out/x") } else { try folder.write("edited", to: "out/x") }
    } catch {
      Issue.record(error)
    }
  }
}
