import Dispatch
import DownloadModel
import SystemPackage
import TestSupport
import Testing

@testable import DownloadCaching
@testable import FileReceiving

@Suite("What one loop knows by the index", .timeLimit(.minutes(1)))
struct IndexSessionTests {
  /// A network loop, which may stand still at a moment that the test chooses.
  private actor Loop {
    private let executor = BlockingExecutor(label: "test.loop")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    private let session: IndexSession
    private let directory: OutputDirectory
    private(set) var hasAsked = false

    init(_ resources: CacheResources, _ configuration: CacheConfiguration, _ directory: OutputDirectory) {
      session = IndexSession(resources, configuration)
      self.directory = directory
      session.open()
      // As where the database cannot be read at once.
      session.endReading()
    }

    /// - Returns: the folder of the file that could be copied.
    func folderElsewhere(of request: DownloadRequest) async -> String? {
      hasAsked = true
      let asked = CacheRequest(request, .usual, in: directory, TransferMeter())
      return await session.known(asked).elsewhere?.key.directory
    }

    func hold(_ isHeld: DispatchSemaphore, until mayGo: DispatchSemaphore) {
      isHeld.signal()
      mayGo.wait()
    }
  }

  private static func wait(for semaphore: DispatchSemaphore) async {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        semaphore.wait()
        continuation.resume()
      }
    }
  }

  /// Another process writes its batch after the database was asked, and before the answer is looked at: a row that
  /// journals were only then asked for is in neither (HTTP rule 19).
  @Test func aRowThatMovesFromAJournalIntoTheDatabase() async throws {
    let folder = try TemporaryFolder()
    var configuration = CacheConfiguration(
      directory: folder.filePath.appending("out"), cacheFolder: folder.filePath.appending("cache"))
    (configuration.claimsFolder, configuration.keyFolder) = (folder.filePath.appending("claims"), folder.filePath)
    let resources = CacheResources(configuration)
    let other = try #require(ProcessClaims(in: folder.filePath.appending("claims")))
    let index = try resources.index(at: try #require(configuration.cacheFolder), now: configuration.now)
    let directory = try resources.folders(configuration).root
    let loop = Loop(resources, configuration, directory)

    try folder.write("body", to: "there/x")
    let file = try #require(StandingFile.of(path: folder.path("there/x")))
    let there = try Folder(folder.filePath.appending("there"), mode: 0o700).canonicalPath()
    var row = JournalTests.row("x", directory: there)
    (row.fields.identity, row.changed, row.fields.digest) = (file.identity, ChangeTime(of: file), nil)
    row.fields.freshness = FreshnessFields()
    let journal = CommitJournal(in: index.folder, resources.secret, other)
    let place = try #require(journal.append(row))
    let request = DownloadRequest(id: 0, address: try Address(row.key.address))

    // The loop asks the index, which stands still; then the loop does, and the index answers.
    let (indexIsHeld, indexMayGo) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let (loopIsHeld, loopMayGo) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let holdIndex = Task {
      await index.answer { _ in
        indexIsHeld.signal()
        indexMayGo.wait()
      }
    }
    await Self.wait(for: indexIsHeld)
    async let found = loop.folderElsewhere(of: request)
    while await !loop.hasAsked { await Task.yield() }
    let holdLoop = Task { await loop.hold(loopIsHeld, until: loopMayGo) }
    await Self.wait(for: loopIsHeld)
    indexMayGo.signal()
    await holdIndex.value
    await index.write(journal, [place])
    loopMayGo.signal()
    await holdLoop.value
    #expect(await found == there)
    await index.close()
  }
}
