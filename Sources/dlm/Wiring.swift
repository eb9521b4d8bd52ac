import CurlTransport
import DownloadCaching
import DownloadModel
import DownloadScheduling
import SystemPackage

/// The one place where the rooms of level 1 meet: a transport, a store over it, and the downloader that joins
/// them. Made for one run, closed after it.
struct Wiring: Sendable {
  private let transport: CurlTransport
  private let cache: DownloadCache
  private let downloader: Downloader
  private let retry: RetryPolicy
  private let perHost: Int?

  /// - Parameter cacheFolder: nil for a run that neither uses nor fills the cache.
  /// - Throws: `.folder` when files cannot go where they should, `.transport` when there is no network loop.
  init(_ settings: Settings, cacheFolder: FilePath?, board: ProgressBoard) async throws(DownloadError) {
    transport = try CurlTransport(settings.transport)
    cache = DownloadCache(
      configuration: CacheConfiguration(
        directory: FilePath(settings.directory), cacheFolder: cacheFolder, conflictPolicy: settings.conflicts,
        refresh: settings.refresh, offline: settings.offline,
        useContentDisposition: settings.usesContentDisposition, checksums: settings.checksums,
        requiredProof: settings.requiredProof, syncs: settings.syncs, credentials: settings.credentials),
      executor: transport.serialExecutor, taskExecutor: transport.taskExecutor)
    do throws(DownloadError) {
      try await cache.prepare()
    } catch {
      await transport.shutdown()
      throw error
    }
    downloader = Downloader(
      store: cache, transport: transport, board: board, retry: settings.retry, clock: ContinuousClock(),
      random: { Double.random(in: 0..<1) })
    (retry, perHost) = (settings.retry, settings.perHost)
  }

  /// Downloads everything that the source gives. Each task of it prefers the transport's executor.
  func run(
    _ source: some RequestSource, mode: DownloadMode, jobs: Int,
    onEnd: @escaping @Sendable (DownloadRequest, Result<DownloadOutcome, DownloadError>) -> Void
  ) async {
    let queue = HostQueue(
      source, ceiling: perHost ?? max(jobs, 1), retry: retry, clock: ContinuousClock(),
      random: { Double.random(in: 0..<1) })
    await withTaskExecutorPreference(transport.taskExecutor) {
      await mode.strategy.run(queue, width: jobs) { request in
        if let result = await downloader.download(request, from: queue) { onEnd(request, result) }
      }
    }
  }

  /// Carries out what was decided on a finished file's name.
  func settle(_ question: Question, _ decision: NameDecision) async throws(DownloadError) {
    _ = try await cache.settle(question.request, question.outcome, decision)
  }

  /// Writes down what the cache learnt and ends the connections.
  /// - Returns: what went wrong with the cache, which failed no download.
  func close() async -> [CacheWarning] {
    let warnings = await cache.close()
    await transport.shutdown()
    return warnings
  }
}
