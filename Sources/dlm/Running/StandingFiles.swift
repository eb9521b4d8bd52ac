import DownloadCaching
import DownloadModel
import SystemPackage

/// The files that earlier runs left, as the user's own index knows them: only looked at.
struct StandingFiles: Sendable {
  private let cache: DownloadCache

  /// - Parameter cacheFolder: nil for runs without the cache, which know nothing.
  init(_ settings: Settings, cacheFolder: FilePath?) {
    cache = DownloadCache(
      configuration: Wiring.configuration(settings, cacheFolder: cacheFolder),
      executor: BlockingExecutor(label: "standing-files"))
  }

  /// - Returns: nil for what is not known.
  func path(of request: DownloadRequest) async throws(DownloadError) -> String? {
    try await cache.standingPath(of: request)
  }

  func close() async { _ = await cache.close() }  // nothing was written, so nothing can have gone wrong
}
