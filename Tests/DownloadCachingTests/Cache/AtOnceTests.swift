import DownloadModel
import SystemPackage
import TestSupport
import Testing

@testable import DownloadCaching
@testable import FileReceiving

/// A request that needs no wait is opened without one, and its file named without one. One that does must find
/// everything as it was.
@Suite("What needs no wait is done at once", .timeLimit(.minutes(hangMinutes)))
struct AtOnceTests {
  private static let body = pattern(1000)

  private let folder: TemporaryFolder
  private let server = FakeServer()
  private let request: DownloadRequest

  init() throws {
    folder = try TemporaryFolder()
    server.put("http://host/x", Self.body)
    request = DownloadRequest(id: 0, address: try Address("http://host/x"))
  }

  private func download(_ opened: OpenedDownload<FileDownload>) throws -> FileDownload {
    guard case .missing(let download) = opened else { throw DownloadError.lost }
    return download
  }

  /// Opened and filled, with waits where they are needed.
  private func filled(_ run: Run, _ request: DownloadRequest) async throws -> FileDownload {
    let download = try download(try await run.cache.opened(request))
    #expect(try download.finish(try server.fetch(download)))
    return download
  }

  @Test(arguments: ["cache", nil]) func aNewFile(cacheFolder: String?) async throws {
    let run = Run(in: folder, server, cacheFolder: cacheFolder)
    #expect(try await run.cache.commitsAtOnce(try await filled(run, request))?.kind == .fetched)
    _ = await run.cache.close()
    #expect(try folder.names(in: "out") == ["x"])
    guard cacheFolder != nil else { return }
    #expect(try await Run(in: folder, server).getAndClose("http://host/x").kind == .unchanged)
  }

  @Test func anEqualRequestInFlightIsWaitedFor() async throws {
    let run = Run(in: folder, server)
    let other = run.onAnotherLoop()
    let first = try await filled(run, request)
    #expect(try await !other.cache.opensAtOnce(request))
    #expect(await run.cache.waiting(for: request.key) == 0)
    #expect(try await run.cache.commitsAtOnce(first)?.kind == .fetched)
    #expect(try await other.cache.opensAtOnce(request))
    _ = await other.cache.close()
    _ = await run.cache.close()
  }

  @Test func anotherProcessHasIt() async throws {
    let claims = folder.filePath.appending("claims")
    let run = Run(in: folder, server, claimsFolder: claims)
    let other = Run(in: folder, server, directory: "out", cacheFolder: "cache", claimsFolder: claims)
    let theirs = try await filled(other, request)
    #expect(try await !run.cache.opensAtOnce(request))
    #expect(await other.cache.close(theirs, after: .cancelled, comesAgain: false) == nil)
    // Neither in flight nor claimed since then.
    _ = try download(try await run.cache.opened(request))
    _ = await run.cache.close()
    _ = await other.cache.close()
  }

  @Test func aKnownFileIsAskedFor() async throws {
    #expect(try await Run(in: folder, server).getAndClose("http://host/x").kind == .fetched)
    let run = Run(in: folder, server, refresh: true)
    #expect(try await !run.cache.opensAtOnce(request))
    #expect(try await run.get("http://host/x").kind == .fetched)
    _ = await run.cache.close()
  }

  @Test(arguments: [false, true]) func aChecksum(isOfOthers: Bool) async throws {
    let run = Run(in: folder, server)
    let digest = ContentHasher.digest(of: isOfOthers ? [0] : Self.body)
    let wishes = DownloadRequest.Wishes(checksum: digest)
    let request = DownloadRequest(id: 0, address: try Address("http://host/x"), wishes: wishes)
    #expect(try await !run.cache.opensAtOnce(request))
    let download = try await filled(run, request)
    #expect(try await run.cache.commitsAtOnce(download)?.proof == (isOfOthers ? nil : .digest))
    if isOfOthers { #expect(await run.cache.close(download, after: .lost, comesAgain: false) == nil) }
    _ = await run.cache.close()
    #expect(try folder.names(in: "out").contains("x") == !isOfOthers)
  }

  /// The disk is waited for.
  @Test func aDurableFile() async throws {
    let run = Run(in: folder, server, syncs: true)
    let download = try await filled(run, request)
    #expect(try await run.cache.commitsAtOnce(download) == nil)
    #expect(try await run.cache.commit(download)?.kind == .fetched)
    _ = await run.cache.close()
  }

  /// Who has the name must be looked up.
  @Test func aTakenName() async throws {
    try folder.makeFolder("out")
    try folder.write("mine", to: "out/x")
    let run = Run(in: folder, server)
    let download = try await filled(run, request)
    #expect(try await run.cache.commitsAtOnce(download) == nil)
    #expect(try await run.cache.commit(download)?.isNumbered == true)
    _ = await run.cache.close()
    #expect(try folder.names(in: "out") == ["x", "x.1"])
  }

  @Test func anotherThreadMayNot() async throws {
    let run = Run(in: folder, server)
    #expect(try run.cache.openAtOnce(request, meter: TransferMeter()) == nil)
    #expect(try await run.cache.opensAtOnce(request))
    _ = await run.cache.close()
  }
}
