import CSQLite
import DownloadModel
import Synchronization
import SystemPackage
import TestSupport

@testable import DownloadCaching
@testable import FileReceiving

/// A run of dlm in a temporary folder: files go to `out`, the index to `cache`.
struct Run: Sendable {
  let folder: TemporaryFolder
  let server: FakeServer
  private(set) var cache: DownloadCache
  private let configuration: CacheConfiguration
  /// What `dlm cache` does with the index.
  let administration: CacheAdministration

  init(
    in folder: TemporaryFolder, _ server: FakeServer, directory: String = "out",
    cacheFolder: String? = "cache",
    policy: ConflictPolicy = .rename, refresh: Bool = false, offline: Bool = false,
    useContentDisposition: Bool = true, syncs: Bool = false, trust: Trust = Trust(),
    checksums: ChecksumList? = nil, store: StoreKind = .none,
    maxStoreBytes: Int64? = nil, claimsFolder: FilePath? = nil, servesManyRuns: Bool = false, now: Int64 = 784_111_777
  ) {
    self.folder = folder
    administration = CacheAdministration(
      cacheFolder.map { folder.filePath.appending($0) }, now: { now })
    self.server = server
    var configuration = CacheConfiguration(
      directory: folder.filePath.appending(directory),
      cacheFolder: cacheFolder.map { folder.filePath.appending($0) })
    configuration.receiving.conflictPolicy = policy
    configuration.receiving.checksums = checksums
    configuration.syncs = syncs
    (configuration.receiving.refresh, configuration.offline) = (refresh, offline)
    configuration.receiving.useContentDisposition = useContentDisposition
    (configuration.store, configuration.maxStoreBytes) = (store, maxStoreBytes)
    configuration.trust = trust
    configuration.claimsFolder = claimsFolder
    configuration.servesManyRuns = servesManyRuns
    configuration.receiving.now = { now }
    self.configuration = configuration
    cache = DownloadCache(configuration: configuration, executor: TestLoop())
  }

  func get(
    _ address: String, output: String? = nil, meter: TransferMeter = TransferMeter()
  ) async throws -> DownloadOutcome {
    let request = DownloadRequest(id: 0, address: try Address(address), wishes: .init(outputName: output))
    let server = server
    return try await get(request, meter: meter) { download throws(DownloadError) in
      try server.fetch(download)
    }
  }

  /// The straight line, as a downloader takes it: opened, filled by one transfer after the other, committed
  /// or closed.
  func get(
    _ request: DownloadRequest, meter: TransferMeter = TransferMeter(),
    transfer: (FileDownload) async throws(DownloadError) -> TransferReceipt
  ) async throws(DownloadError) -> DownloadOutcome {
    switch try await cache.opened(request, meter: meter) {
    case .answered(let outcome): return outcome
    case .missing(let download):
      do throws(DownloadError) {
        while true {
          while try await !download.finish(transfer(download)) {}
          if let outcome = try await cache.committed(download) { return outcome }
        }
      } catch {
        guard let older = await cache.close(download, after: error, comesAgain: false) else { throw error }
        return older
      }
    }
  }

  /// The same run on another network loop.
  func onAnotherLoop() -> Run {
    var run = self
    run.cache = DownloadCache(
      configuration: configuration, resources: cache.resources, executor: TestLoop())
    return run
  }

  /// A run of one file, to its end.
  func getAndClose(_ address: String, output: String? = nil) async throws -> DownloadOutcome {
    let outcome = try await get(address, output: output)
    _ = await cache.close()
    return outcome
  }
}

extension DownloadCache {
  /// At once, as a downloader does it, or else with waits.
  func opened(
    _ request: DownloadRequest, meter: TransferMeter = TransferMeter()
  ) async throws(DownloadError) -> OpenedDownload<FileDownload> {
    if let opened = try openAtOnce(request, meter: meter) { return opened }
    return try await open(request, meter: meter)
  }

  func committed(_ download: FileDownload) async throws(DownloadError) -> DownloadOutcome? {
    if let outcome = try commitAtOnce(download) { return outcome }
    return try await commit(download)
  }

  /// Whether a request can be opened without a wait.
  func opensAtOnce(_ request: DownloadRequest) throws(DownloadError) -> Bool {
    try openAtOnce(request, meter: TransferMeter()) != nil
  }

  /// The same for naming a complete file.
  func commitsAtOnce(_ download: FileDownload) throws(DownloadError) -> DownloadOutcome? {
    try commitAtOnce(download)
  }

  var worker: DiskWorker { resources.worker }
  var isBatchFull: Bool { index.isFull }

  func remember(atMost limit: Int) { resources.memory.withLock { $0 = MemoryCache(limit: limit) } }
  func waiting(for key: DownloadRequest.Key) -> Int { resources.inFlight.count(for: key) }
}

extension TemporaryFolder {
  /// Its path, as the room takes paths.
  var filePath: FilePath { FilePath(path) }
}

extension Statement {
  /// How often SQLite has planned it anew.
  var plansMade: Int32 { sqlite3_stmt_status(handle, SQLITE_STMTSTATUS_REPREPARE, 0) }
}

extension IndexDatabase {
  static func store(_ rows: [CacheRow], in connection: Connection) throws {
    let statement = try connection.statement(CacheSchema.insert)
    for row in rows { try statement.insert(row) }
  }
}
