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
  private let mode: DownloadMode
  private let concurrency: RunConcurrency
  private let pace: JobsPace?
  private let received: @Sendable () -> Int64
  private let retry: RetryPolicy
  private let perHost: Int?

  /// - Parameters:
  ///   - files: how many there are to fetch, where that is known; a loop that would have none is not made.
  ///   - claimsFolder: where other processes say what they have under way; nil for a run in a folder of its own.
  ///   - names: the numbers of the list's names, as its reader gave them.
  ///   - cacheFolder: nil for a run that neither uses nor fills the cache.
  ///   - cookies: those of the run; nil to begin with what `--cookie-jar` held, and to keep nothing.
  ///   - keyFolder: where the user's secret is kept, by which such a run too knows its parts again.
  /// - Throws: `.folder` when files cannot go where they should, `.transport` when there is no network loop.
  init(
    _ settings: Settings, mode: DownloadMode, files: Int?, cacheFolder: FilePath?, keyFolder: FilePath? = nil,
    claimsFolder: FilePath? = nil, names: NameNumbers? = nil, board: ProgressBoard, cookies: CookieJar? = nil,
    log: RunLog = RunLog(isVerbose: false)
  ) async throws(DownloadError) {
    let concurrency = RunConcurrency(
      mode, jobs: settings.jobs, segments: settings.segments, loops: settings.loops, files: files)
    var configuration = Self.configuration(settings, cacheFolder: cacheFolder)
    let jar: CookieJar
    if let cookies { jar = cookies } else { jar = try CookieJar(settings.cookieJar?.lines ?? []) }
    var options = settings.transport
    options.cookieJar = jar
    options.group = TransportGroup()
    configuration.holdsCookies = { jar.holdsCookies }
    configuration.keyFolder = keyFolder
    configuration.names = names
    configuration.claimsFolder = claimsFolder
    configuration.onWait = { board.waitsForAnotherProcess($0) }
    var workers: [Worker] = []
    do throws(DownloadError) {
      for _ in concurrency.widths {
        let transport = try CurlTransport(options)
        let cache =
          workers.first?.cache.sibling(executor: transport.serialExecutor)
          ?? DownloadCache(configuration: configuration, executor: transport.serialExecutor)
        let downloader = Downloader(
          store: cache, transport: transport, board: board, retry: settings.retry, clock: ContinuousClock(),
          random: { Double.random(in: 0..<1) }, segments: concurrency.segments,
          onSplit: { log.split($0, $1, $2) }, onRetry: { log.again($0, $1, $2) })
        workers.append(Worker(transport: transport, cache: cache, downloader: downloader))
        try await cache.prepare()
      }
    } catch {
      for worker in workers { await worker.transport.shutdown() }
      throw error
    }
    self.workers = workers
    (self.mode, self.concurrency) = (mode, concurrency)
    pace = settings.adaptsJobs ? JobsPace(ceiling: concurrency.jobs) : nil
    received = { board.counter.value }
    (retry, perHost) = (settings.retry, settings.perHost)
  }

  /// How a run uses the disk.
  static func configuration(_ settings: Settings, cacheFolder: FilePath?) -> CacheConfiguration {
    CacheConfiguration(
      directory: FilePath(settings.directory), cacheFolder: cacheFolder, conflictPolicy: settings.conflicts,
      refresh: settings.refresh, offline: settings.offline,
      useContentDisposition: settings.usesContentDisposition, checksums: settings.checksums,
      requiredProof: settings.requiredProof, maxSize: settings.maxSize, syncs: settings.syncs,
      usesRemoteTime: settings.usesRemoteTime,
      fields: settings.requestFields, logins: settings.logins)
  }

  /// Downloads everything that the source gives: a share of the lanes on each loop, each task of it preferring that
  /// loop's executor.
  /// - Returns: the most files that were under way at a time.
  func run(
    _ source: some RequestSource,
    onEnd: @escaping @Sendable (DownloadRequest, Result<DownloadOutcome, DownloadError>) -> Void
  ) async -> Int {
    let queue = HostQueue(
      source, ceiling: perHost ?? max(concurrency.jobs, Settings.mostPerHost),
      widths: concurrency.widths, jobs: pace, received: received, retry: retry, clock: ContinuousClock(),
      random: { Double.random(in: 0..<1) },
      keep: { [workers] host, quotas in
        for (index, worker) in workers.enumerated() {
          worker.transport.keep(connectionsTo: host, atMost: quotas?[index])
        }
      })
    await withTaskGroup { group in
      group.addTask { await queue.read() }
      for (index, (worker, width)) in zip(workers, concurrency.widths).enumerated() {
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
