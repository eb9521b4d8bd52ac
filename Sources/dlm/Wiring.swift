import CurlTransport
import DownloadCaching
import DownloadModel
import DownloadScheduling
import SystemPackage

/// The one place where the rooms of level 1 meet: network loops, a store over each, and the downloaders that join
/// them. Made for one run, closed after it.
struct Wiring: Sendable {
  /// A loop with its thread, and what works on it. Nothing that happens to a file leaves it.
  private struct Worker {
    let transport: CurlTransport
    let cache: DownloadCache
    let downloader: Downloader
  }

  private let workers: [Worker]
  /// Files at a time, on each worker.
  private let widths: [Int]
  private let mode: DownloadMode
  private let jobs: Int
  private let pace: JobsPace?
  private let received: @Sendable () -> Int64
  private let retry: RetryPolicy
  private let perHost: Int?

  /// - Parameters:
  ///   - files: how many there are to fetch, where that is known; a loop that would have none is not made.
  ///   - cacheFolder: nil for a run that neither uses nor fills the cache.
  /// - Throws: `.folder` when files cannot go where they should, `.transport` when there is no network loop.
  init(
    _ settings: Settings, mode: DownloadMode, files: Int?, cacheFolder: FilePath?, board: ProgressBoard,
    log: RunLog = RunLog(isVerbose: false)
  ) async throws(DownloadError) {
    let jobs = max(settings.jobs, 1)
    let widths = Self.widths(
      mode == .sequential ? 1 : jobs, over: min(settings.loops, max(1, files ?? .max)))
    let configuration = CacheConfiguration(
      directory: FilePath(settings.directory), cacheFolder: cacheFolder, conflictPolicy: settings.conflicts,
      refresh: settings.refresh, offline: settings.offline,
      useContentDisposition: settings.usesContentDisposition, checksums: settings.checksums,
      requiredProof: settings.requiredProof, syncs: settings.syncs, credentials: settings.credentials)
    var workers: [Worker] = []
    do throws(DownloadError) {
      for _ in widths {
        let transport = try CurlTransport(settings.transport)
        let cache =
          workers.first?.cache.sibling(executor: transport.serialExecutor)
          ?? DownloadCache(configuration: configuration, executor: transport.serialExecutor)
        let downloader = Downloader(
          store: cache, transport: transport, board: board, retry: settings.retry, clock: ContinuousClock(),
          random: { Double.random(in: 0..<1) }, segments: settings.segments,
          onSplit: { log.split($0, $1, $2) })
        workers.append(Worker(transport: transport, cache: cache, downloader: downloader))
        try await cache.prepare()
      }
    } catch {
      for worker in workers { await worker.transport.shutdown() }
      throw error
    }
    self.workers = workers
    (self.mode, self.widths, self.jobs) = (mode, widths, jobs)
    pace = settings.adaptsJobs ? JobsPace(ceiling: jobs) : nil
    received = { board.counter.value }
    (retry, perHost) = (settings.retry, settings.perHost)
  }

  /// Downloads everything that the source gives: a share of the lanes on each loop, each task of it preferring that
  /// loop's executor.
  /// - Returns: the most files that were under way at a time.
  func run(
    _ source: some RequestSource,
    onEnd: @escaping @Sendable (DownloadRequest, Result<DownloadOutcome, DownloadError>) -> Void
  ) async -> Int {
    let queue = HostQueue(
      source, ceiling: perHost ?? max(jobs, Settings.mostPerHost), widths: widths, jobs: pace,
      received: received, retry: retry, clock: ContinuousClock(), random: { Double.random(in: 0..<1) })
    await withTaskGroup { group in
      for (index, (worker, width)) in zip(workers, widths).enumerated() {
        let share = HostQueueShare(queue, index)
        group.addTask(executorPreference: worker.transport.taskExecutor) { [mode] in
          await mode.strategy.run(share, width: width, isolation: worker.cache) { request, isolation in
            _ = isolation  // that of the lane, in which the downloader then stays
            if let result = await worker.downloader.download(request, from: share) { onEnd(request, result) }
          }
        }
      }
    }
    return queue.peak
  }

  /// - Returns: how many at a time on each loop; fewer loops where there are fewer files at a time.
  static func widths(_ jobs: Int, over loops: Int) -> [Int] {
    let count = max(1, min(jobs, loops))
    return (0..<count).map { jobs / count + ($0 < jobs % count ? 1 : 0) }
  }

  /// Carries out what was decided on a finished file's name.
  func settle(_ question: Question, _ decision: NameDecision) async throws(DownloadError) {
    _ = try await workers.first?.cache.settle(question.request, question.outcome, decision)
  }

  /// Writes down what the cache learnt and ends the connections.
  /// - Returns: what went wrong with the cache, which failed no download.
  func close() async -> [CacheWarning] {
    // Side by side: each is a few changes of thread, which take their time on a machine that was waiting.
    await withTaskGroup { group in
      for worker in workers {
        group.addTask {
          let warnings = await worker.cache.close()
          await worker.transport.shutdown()
          return warnings
        }
      }
      return await group.reduce(into: [CacheWarning]()) { all, some in
        for warning in some where !all.contains(warning) { all.append(warning) }
      }
    }
  }
}
