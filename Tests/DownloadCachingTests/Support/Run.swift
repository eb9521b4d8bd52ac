import DownloadModel
import SystemPackage

@testable import DownloadCaching

/// A run of dlm in a temporary folder: files go to `out`, the index to `cache`.
struct Run: Sendable {
  let folder: TemporaryFolder
  let server: FakeServer
  let cache: DownloadCache

  init(
    in folder: TemporaryFolder, _ server: FakeServer, directory: String = "out",
    cacheFolder: String? = "cache",
    policy: ConflictPolicy = .rename, refresh: Bool = false, offline: Bool = false,
    useContentDisposition: Bool = true, syncs: Bool = false, fields: RequestFields = RequestFields(),
    logins: NetrcLogins? = nil, checksums: ChecksumList? = nil
  ) {
    self.folder = folder
    self.server = server
    cache = DownloadCache(
      configuration: CacheConfiguration(
        directory: folder.path.appending(directory),
        cacheFolder: cacheFolder.map { folder.path.appending($0) },
        conflictPolicy: policy, refresh: refresh, offline: offline,
        useContentDisposition: useContentDisposition, checksums: checksums, syncs: syncs, fields: fields,
        logins: logins,
        now: { 784_111_777 }),
      executor: BlockingExecutor(label: "test.loop"))
  }

  func get(
    _ address: String, output: String? = nil, meter: TransferMeter = TransferMeter()
  ) async throws -> DownloadOutcome {
    let request = DownloadRequest(id: 0, address: try Address(address), outputName: output)
    let server = server
    return try await cache.file(for: request, meter: meter) { target throws(DownloadError) in
      try server.fetch(target)
    }
  }

  /// A run of one file, to its end.
  func getAndClose(_ address: String, output: String? = nil) async throws -> DownloadOutcome {
    let outcome = try await get(address, output: output)
    _ = await cache.close()
    return outcome
  }
}
