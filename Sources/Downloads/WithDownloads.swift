import DownloadModel

/// Opens a session for a scope and closes it at the end, also when the scope throws: no download outlives it.
/// - Throws: the errors of opening (`DownloadError`) and of `body`.
public nonisolated(nonsending) func withDownloads<Value>(
  _ configuration: DownloadConfiguration, _ body: nonisolated(nonsending) (Downloads) async throws -> Value
) async throws -> Value {
  let downloads = try await Downloads(configuration)
  do {
    let value = try await body(downloads)
    await downloads.close()
    return value
  } catch {
    await downloads.close()
    throw error
  }
}

/// The same with the most common settings.
public nonisolated(nonsending) func withDownloads<Value>(
  into directory: String, cacheFolder: String? = nil, _ body: nonisolated(nonsending) (Downloads) async throws -> Value
) async throws -> Value {
  try await withDownloads(DownloadConfiguration(directory: directory, cacheFolder: cacheFolder), body)
}
