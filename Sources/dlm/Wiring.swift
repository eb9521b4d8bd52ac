import CurlTransport
import DownloadCaching
import DownloadModel
import DownloadScheduling
import SystemPackage

/// The only code in which the rooms of level 1 meet: network loops, a store on each, and the downloaders that
/// connect them. Made for one run, closed after it.
struct Wiring: Sendable {
  /// A loop with its thread, and what works on it. Nothing that happens to a file leaves it.
  private struct Worker {
    let transport: CurlTransport
    let cache: DownloadCache
  }

  private let workers: [Worker]
  private let jar: CookieJar
  /// Those that the run began with.
  private let firstCookies: [String]
  private let mode: DownloadMode
  private let concurrency: RunConcurrency
  private let adaptive: AdaptiveConcurrency?
  private let feed: ProgressFeed
  private let log: RunLog
  private let retry: RetryPolicy
  private let perHost: Int?

  /// - Parameters:
  ///   - files: how many there are to fetch, where that is known; a loop that would have none is not made.
  ///   - claimsFolder: where other processes say what they have under way; nil for a run in a folder of its
  ///     own.
  ///   - names: the numbers of the list's names, as its reader gave them.
  ///   - cacheFolder: nil for a run that neither uses nor fills the cache.
  ///   - keyFolder: where the user's secret is kept, by which such a run recognises its own parts too.
  /// - Throws: `.folder` when files cannot go where they should, `.transport` when there is no network loop.
  init(
    _ settings: Settings, mode: DownloadMode, files: Int?, cacheFolder: FilePath?, keyFolder: FilePath? = nil,
    claimsFolder: FilePath? = nil, names: NameNumbers? = nil, feed: ProgressFeed,
    log: RunLog = RunLog(isVerbose: false)
  ) async throws(DownloadError) {
    let concurrency = RunConcurrency(
      mode, jobs: settings.jobs, segments: settings.segments, loops: settings.loops, files: files)
    var configuration = Self.configuration(settings, cacheFolder: cacheFolder)
    let kept = settings.connection.cookieJar
    let jar = try CookieJar(kept?.lines ?? [])
    firstCookies = kept == nil ? [] : try jar.lines()
    var options = Self.transport(settings)
    options.width = settings.jobs
    options.cookieJar = jar
    options.group = TransportGroup()
    configuration.splits = concurrency.segments > 1
    let retry = Self.retry(settings)
    configuration.holdsCookies = { jar.holdsCookies }
    configuration.keyFolder = keyFolder
    configuration.names = names
    configuration.claimsFolder = claimsFolder
    configuration.onWait = { feed.waitsForAnotherProcess($0) }
    var workers: [Worker] = []
    do throws(DownloadError) {
      for _ in concurrency.widths {
        let transport = try CurlTransport(options)
        let cache =
          workers.first?.cache.sibling(executor: transport.serialExecutor)
          ?? DownloadCache(configuration: configuration, executor: transport.serialExecutor)
        workers.append(Worker(transport: transport, cache: cache))
        try await cache.prepare()
      }
    } catch {
      for worker in workers { await worker.transport.shutdown() }
      throw error
    }
    (self.workers, self.jar) = (workers, jar)
    (self.mode, self.concurrency) = (mode, concurrency)
    adaptive = settings.adaptsJobs ? AdaptiveConcurrency(ceiling: concurrency.jobs) : nil
    (self.feed, self.log) = (feed, log)
    (self.retry, perHost) = (retry, settings.perHost)
  }

  /// How a run uses the disk.
  static func configuration(_ settings: Settings, cacheFolder: FilePath?) -> CacheConfiguration {
    let (output, connection) = (settings.output, settings.connection)
    // What says, beside an address's own login, which answer a request gets. The cache keeps keyed hashes of
    // it.
    let fields = RequestFields(
      connection.headerLines, userAgent: connection.userAgent, cookieJar: connection.cookieJar?.identity)
    return CacheConfiguration(
      directory: FilePath(output.directory), cacheFolder: cacheFolder, conflictPolicy: output.conflicts,
      refresh: output.refresh, offline: output.offline, useContentDisposition: output.usesContentDisposition,
      checksums: output.checksums, requiredProof: output.requiredProof, maxSize: output.maxSize,
      syncs: output.syncs, usesRemoteTime: output.usesRemoteTime, fields: fields, logins: output.logins)
  }

  /// How lists at addresses are fetched: as files are, one at a time.
  static func listFetching(_ settings: Settings, _ environment: [String: String]) -> ListAtAddress.Fetching {
    var options = transport(settings)
    options.width = 1
    let retry = retry(settings)
    return ListAtAddress.Fetching(
      transport: options, folder: TemporaryFolder.path(environment),
      delay: { error, failures, elapsed in
        retry.delay(after: error, failures: failures, elapsed: elapsed, random: .random(in: 0..<1))
      },
      failure: { $0.failure(now: WallClock.seconds()) })
  }

  private static func transport(_ settings: Settings) -> TransportOptions {
    var options = settings.connection.transport
    if let logins = settings.output.logins { options.hasLogin = { logins.hasLogin(for: $0) } }
    return options
  }

  private static func retry(_ settings: Settings) -> RetryPolicy {
    RetryPolicy(retries: settings.retries, maxTime: settings.retryMaxTime)
  }

  /// Downloads everything that the source gives: a share of the lanes on each loop, each task of it
  /// preferring that loop's executor.
  /// - Returns: the most files that were under way at a time.
  func run(
    _ source: some RequestSource,
    onEnd: @escaping @Sendable (DownloadRequest, Result<DownloadOutcome, DownloadError>) -> Void
  ) async -> Int {
    let queue = RequestQueue(
      source, ceiling: perHost ?? max(concurrency.jobs, Settings.mostPerHost),
      widths: concurrency.widths, adaptive: adaptive, received: { [feed] in feed.counter.value },
      retry: retry, clock: ContinuousClock(), random: { Double.random(in: 0..<1) },
      limitConnections: { [workers] host, quotas in
        for (index, worker) in workers.enumerated() {
          worker.transport.keep(connectionsTo: host, atMost: quotas?[index])
        }
      })
    let news = Downloader.News(
      onSplit: { [log] in log.split($0, $1, $2) }, onRetry: { [log] in log.again($0, $1, $2) }, onEnd: onEnd)
    await queue.run { shares in
      await withTaskGroup { group in
        for (share, (worker, width)) in zip(shares, zip(workers, concurrency.widths)) {
          let downloader = Downloader(
            on: worker.transport.serialExecutor, store: worker.cache, transport: worker.transport,
            feed: feed, retry: retry, clock: ContinuousClock(), random: { Double.random(in: 0..<1) },
            segments: concurrency.segments, news: news)
          let lane = Lane(downloader, on: worker.transport.taskExecutor, from: share, width: width)
          group.addTask { [mode] in await lane.run(mode.strategy) }
        }
      }
    }
    return queue.peak
  }

  /// Carries out the user's decision on a finished file's name.
  func carryOut(_ decision: NameDecision, on question: Question) async throws(DownloadError) {
    _ = try await workers.first?.cache.carryOut(
      decision, on: question.outcome, of: question.request)
  }

  /// The run's cookies at its start and by now, lines of Netscape's format; nil if there are none. Secrets.
  func cookies() throws(DownloadError) -> (before: [String], after: [String])? {
    jar.holdsCookies ? (firstCookies, try jar.lines()) : nil
  }

  /// Writes what the cache learnt, and ends the connections.
  /// - Returns: what went wrong with the cache without failing a download.
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
