import CurlTransport
import DownloadCaching
import DownloadModel
import DownloadScheduling
import Downloads
import FileReceiving
import SystemPackage

/// The loops and the run of a command's settings. Closed after the run.
struct Wiring {
  let loops: NetworkLoops
  let downloads: DownloadRun
  let schedule: LimitSchedule
  private let mode: DownloadMode
  /// The most files at a time after additions, in a run that started with a single file; else `nil`.
  private let room: Int?
  private let log: RunLog?

  /// - Parameters:
  ///   - files: how many there are to download, `nil` if unknown; a loop that would have none is not created.
  ///   - claimsFolder: where processes publish their downloads in flight; `nil` for a run in a folder of its own.
  ///   - cacheFolder: `nil` for a run that neither uses nor fills the cache.
  ///   - keyFolder: contains the user's secret, by which a run without cache also recognises its own parts.
  /// - Throws: `.folder` if the folder for files cannot be used, `.transport` if no network loop could be started.
  init(
    _ settings: Settings, mode: DownloadMode, files: Int?, cacheFolder: FilePath?, keyFolder: FilePath? = nil,
    claimsFolder: FilePath? = nil, names: NameNumbers? = nil, watches: Bool = false, feed: ProgressFeed, log: RunLog?,
    store: (any DownloadStore)? = nil
  ) async throws(DownloadError) {
    let concurrency = RunConcurrency(
      mode, jobs: settings.jobs, segments: settings.segments,
      // Counting the cores reads several files of the system.
      loops: files == 1 ? 1 : settings.loops, files: files)
    var options = settings.connection.transport
    options.width = settings.jobs
    var configuration = Self.configuration(settings, cacheFolder: cacheFolder)
    configuration.receiving.splits = concurrency.segments > 1
    configuration.keyFolder = keyFolder
    configuration.receiving.names = names
    configuration.claimsFolder = claimsFolder
    configuration.receiving.onRestart = {
      feed.restart($0, $1)
      log?.restart($0, $1)
    }
    configuration.onWait = { feed.waits($0, forProcess: $1) }
    loops = try await NetworkLoops(
      concurrency.widths.count, transport: options, cache: configuration, cookies: settings.connection.cookieJar?.lines)
    downloads = DownloadRun(
      Self.plan(settings, mode, concurrency, options, watches: watches), over: loops, feed: feed, store: store)
    schedule = settings.connection.schedule
    self.mode = mode
    self.log = log
    room = files == 1 && mode != .sequential ? settings.jobs : nil
  }

  private static func plan(
    _ settings: Settings, _ mode: DownloadMode, _ concurrency: RunConcurrency, _ options: TransportOptions,
    watches: Bool
  ) -> RunPlan {
    let perHost = settings.shared.perHost?.number ?? (settings.own.background ? 1 : nil)
    let ceiling = perHost ?? max(settings.jobs, Settings.mostPerHost)
    var plan = RunPlan(mode.strategy, concurrency, ceiling: ceiling, retry: settings.retry)
    // The user's limits for hosts and connections apply from the first request on.
    plan.opening = perHost ?? max(RunPlan.fewAtFirst, settings.shared.segments?.number ?? 0)
    plan.lowered = settings.form.shard?.ceilings(of: ceiling) ?? [:]
    if mode == .auto || settings.adaptsJobs && concurrency.jobs > 1 {
      plan.adaptive = AdaptiveConcurrency(ceiling: concurrency.jobs)
    }
    plan.rates = RequestRate.all(settings.shared.rate)
    plan.order = settings.order
    plan.isBackground = settings.own.background
    plan.sharesConnections = options.usesHTTP2
    // Additions to a watched list may have to go first while all lanes are busy.
    plan.looksAhead = !settings.first.isEmpty || settings.order != .list || watches
    return plan
  }

  static func configuration(_ settings: Settings, cacheFolder: FilePath?) -> CacheConfiguration {
    var configuration = settings.output.cache
    configuration.directory = FilePath(settings.output.directory)
    configuration.cacheFolder = cacheFolder
    configuration.trust = settings.connection.transport.trust
    return configuration
  }

  static func listFetching(_ settings: Settings) -> ListAtAddress.Fetching {
    var options = settings.connection.transport
    options.width = 1
    return ListAtAddress.Fetching(
      transport: options, folder: TemporaryFolder.path(settings.environment),
      delay: { error, failures, elapsed in
        settings.retry.delay(after: error, failures: failures, elapsed: elapsed, random: .random(in: 0..<1))
      }, failure: { $0.failure(now: WallClock.seconds()) },
      maxSize: settings.output.cache.receiving.maxSize ?? 256 << 20,
      refusal: settings.output.cache.offline
        ? DownloadError(
          .cache, cause: .detail("lists at URLs are not in the cache"), activity: "answering offline") : nil)
  }

  /// - Parameter isWanted: `Downloader.News.isWanted`.
  /// - Returns: how many files went at a time, and why.
  func run(
    _ source: some RequestSource, isWanted: (@Sendable (DownloadRequest) -> Bool)? = nil,
    onEnd: @escaping @Sendable (DownloadRequest, DownloadResult) -> Void
  ) async -> RunWidth {
    let news = Downloader.News(
      onSplit: { [log] in log?.split($0, $1, $2) }, onRetry: { [log] in log?.again($0, $1, $2) }, onEnd: onEnd,
      isWanted: isWanted)
    return await downloads.run(source, news: news)
  }

  /// `DownloadRun.add`, with lanes for the additions.
  func add(_ requests: [DownloadRequest], keepers: Int = 0) -> Bool {
    guard downloads.add(requests, keepers: keepers) else { return false }
    if let room { for _ in requests where downloads.widen(by: 1) ?? 0 > room { _ = downloads.widen(by: -1) } }
    return true
  }

  /// - Returns: the new limit of parallel files; `nil` in mode sequential, and before and after the run.
  func widen(by change: Int) -> Int? { mode == .sequential ? nil : downloads.widen(by: change) }
}
