import CurlTransport
import DownloadCaching
import DownloadModel
import DownloadScheduling
import Synchronization
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
  private let clock = PausableClock()
  private let steering = RunSteering()
  private let order: OrderSettings

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
      mode, jobs: settings.jobs, segments: settings.segments,
      // One file needs no count of the cores, which is read from several files of the system.
      loops: files == 1 ? 1 : settings.loops, files: files)
    var configuration = Self.configuration(settings, cacheFolder: cacheFolder)
    let kept = settings.connection.cookieJar
    let jar = try CookieJar(kept?.lines ?? [])
    firstCookies = kept == nil ? [] : try jar.lines()
    var options = Self.transport(settings)
    options.width = settings.jobs
    options.cookieJar = jar
    options.group = TransportGroup()
    // A body that can be fetched in pieces can also give way, and go on later.
    configuration.splits =
      concurrency.segments > 1 || settings.order.looksAhead || settings.order.isBackground
    let retry = Self.retry(settings)
    configuration.holdsCookies = { jar.holdsCookies }
    configuration.keyFolder = keyFolder
    configuration.names = names
    configuration.claimsFolder = claimsFolder
    configuration.onWait = { feed.waits($0, forProcess: $1) }
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
    (self.retry, order) = (retry, settings.order)
    perHost = settings.perHost ?? (order.isBackground ? 1 : nil)
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
      refresh: output.refresh, offline: output.offline, freshness: output.freshness,
      useContentDisposition: output.usesContentDisposition,
      checksums: output.checksums, requiredProof: output.requiredProof, maxSize: output.maxSize,
      syncs: output.syncs, usesRemoteTime: output.usesRemoteTime, store: output.store,
      maxStoreBytes: output.maxStoreBytes, fields: fields, logins: output.logins)
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
  /// - Parameter scopes: by which single downloads are cancelled; nil where the list cannot change.
  /// - Returns: the most files that were under way at a time.
  func run(
    _ source: some RequestSource, scopes: DownloadScopes? = nil,
    onEnd: @escaping @Sendable (DownloadRequest, Result<DownloadOutcome, DownloadError>) -> Void
  ) async -> Int {
    let (elsewhere, onHost) = otherProcesses
    let queue = RequestQueue(
      source, ceiling: perHost ?? max(concurrency.jobs, Settings.mostPerHost),
      widths: concurrency.widths, adaptive: adaptive, received: { [feed] in feed.counter.value },
      retry: retry, clock: clock, random: { Double.random(in: 0..<1) },
      order: order.order, looksAhead: order.looksAhead,
      elsewhere: elsewhere, onHost: onHost,
      limitConnections: { [workers] host, quotas in
        for (index, worker) in workers.enumerated() {
          worker.transport.keep(connectionsTo: host, atMost: quotas?[index])
        }
      })
    let news = Downloader.News(
      onSplit: { [log] in log.split($0, $1, $2) }, onRetry: { [log] in log.again($0, $1, $2) }, onEnd: onEnd)
    scopes?.attach(queue) { onEnd($0, .failure(.cancelled)) }
    feed.hosts(from: { queue.waits })
    // The queue has what reads the feed's counter.
    defer { feed.hosts(from: nil) }
    let (more, addLane) = AsyncStream<Int>.makeStream()
    await queue.run { shares in
      let downloaders = workers.map { worker in
        Downloader(
          on: worker.transport.serialExecutor, store: worker.cache, transport: worker.transport,
          feed: feed, retry: retry, clock: clock, random: { Double.random(in: 0..<1) },
          segments: concurrency.segments, news: news)
      }
      func lane(_ index: Int, width: Int) -> Lane {
        Lane(
          downloaders[index], on: workers[index].transport.taskExecutor, from: shares[index], width: width,
          scopes: scopes)
      }
      steering.begin(RunSteering.Run(queue: queue, downloaders: downloaders) { addLane.yield($0) })
      async let extra: Void = withDiscardingTaskGroup { group in
        // Each is one file after the other, whatever the mode is.
        for await index in more {
          let lane = lane(index, width: 1)
          group.addTask { await lane.run(SequentialStrategy()) }
        }
      }
      await withTaskGroup { group in
        for (index, width) in concurrency.widths.enumerated() {
          let lane = lane(index, width: width)
          group.addTask { [mode] in await lane.run(mode.strategy) }
        }
      }
      steering.end()
      addLane.finish()
      await extra
    }
    return queue.peak
  }

  // MARK: While it runs

  /// Holds the run, or lets it go on: no file begins, no transfer sends or receives a byte, and no limit of
  /// time counts meanwhile.
  func pause(_ isPaused: Bool) {
    for worker in workers { worker.transport.hold(isPaused) }
    clock.pause(isPaused)
    steering.pause(isPaused)
  }

  /// Takes one file at a time more, or one less.
  /// - Returns: how many; nil for a mode that has one at a time, always.
  func widen(by change: Int) -> Int? {
    guard mode != .sequential, let run = steering.run else { return nil }
    let (count, newLane) = run.queue.widen(by: change, most: Self.mostLanes)
    if let newLane { run.addLane(newLane) }
    feed.width(count)
    return count
  }

  /// More files at a time are of no use to anybody.
  private static let mostLanes = 512

  /// Gives one file up for this run, and keeps what has come of it.
  func skip(_ id: Int, _ meter: TransferMeter) async {
    let downloaders = steering.run?.downloaders ?? []
    for (index, downloader) in downloaders.enumerated() where await downloader.skip(id, meter) {
      for (other, downloader) in downloaders.enumerated() where other != index {
        await downloader.forgetSkip(id)
      }
      return
    }
  }

  /// What is known of the transfers that fill a file, the one that began it first.
  func details(of meter: TransferMeter) async -> [TransferDetails] {
    var all: [TransferDetails] = []
    for worker in workers { all += await worker.transport.details(of: meter) }
    return all
  }

  /// Has the next request for each file look at the disk again, and ask its server.
  func askAnew() async { for worker in workers { await worker.cache.askAnew() } }

  private typealias Elsewhere = @Sendable (_ host: String) -> Bool
  private typealias OnHost = @Sendable (_ host: String, _ isUnderWay: Bool) -> Void

  /// A run in the background leaves hosts to those that are not, and says nothing of its own; another tells
  /// which it has.
  private var otherProcesses: (elsewhere: Elsewhere?, onHost: OnHost?) {
    guard let cache = workers.first?.cache else { return (nil, nil) }
    if order.isBackground { return ({ cache.isAnnouncedElsewhere(host: $0) }, nil) }
    guard cache.knowsOtherProcesses else { return (nil, nil) }
    return (nil, { cache.announce(host: $0, isUnderWay: $1) })
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

/// What can be changed of a run while it goes on, for as long as it does.
final class RunSteering: Sendable {
  struct Run: Sendable {
    let queue: RequestQueue
    /// In the order of the loops.
    let downloaders: [Downloader]
    /// Begins one more lane over a loop's share.
    let addLane: @Sendable (_ share: Int) -> Void
  }

  private struct State {
    var run: Run?
    var isPaused = false
  }

  private let state = Mutex(State())

  /// Nil before and after the run.
  var run: Run? { state.withLock { $0.run } }

  func begin(_ run: Run) {
    let isPaused = state.withLock { state in
      state.run = run
      return state.isPaused
    }
    if isPaused { run.queue.pause(true) }
  }

  func end() { state.withLock { $0.run = nil } }

  /// Lets the queue begin nothing, or go on; also before the run has begun.
  func pause(_ isPaused: Bool) {
    let run = state.withLock { state in
      state.isPaused = isPaused
      return state.run
    }
    run?.queue.pause(isPaused)
  }
}
