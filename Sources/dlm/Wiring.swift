import CurlTransport
import DownloadCaching
import DownloadModel
import DownloadScheduling
import Downloads
import SystemPackage

/// What the settings of a command make of the meeting of the rooms (`NetworkLoops`, `DownloadRun`): loops for one run,
/// and that run. Closed after it.
struct Wiring: Sendable {
  private let loops: NetworkLoops
  private let downloads: DownloadRun
  private let mode: DownloadMode
  private let log: RunLog

  /// - Parameters:
  ///   - files: how many there are to fetch, where that is known; a loop that would have none is not made.
  ///   - claimsFolder: where other processes say what they have under way; nil for a run in a folder of its own.
  ///   - cacheFolder: nil for a run that neither uses nor fills the cache.
  ///   - keyFolder: where the user's secret is kept, by which such a run recognises its own parts too.
  /// - Throws: `.folder` when files cannot go where they should, `.transport` when there is no network loop.
  init(
    _ settings: Settings, mode: DownloadMode, files: Int?, cacheFolder: FilePath?, keyFolder: FilePath? = nil,
    claimsFolder: FilePath? = nil, names: NameNumbers? = nil, watches: Bool = false, feed: ProgressFeed, log: RunLog
  ) async throws(DownloadError) {
    let concurrency = RunConcurrency(
      mode, jobs: settings.jobs, segments: settings.segments,
      // One file needs no count of the cores, which is read from several files of the system.
      loops: files == 1 ? 1 : settings.loops, files: files)
    var options = settings.connection.transport
    options.width = settings.jobs
    var configuration = Self.configuration(settings, cacheFolder: cacheFolder)
    configuration.splits = concurrency.segments > 1
    configuration.keyFolder = keyFolder
    configuration.names = names
    configuration.claimsFolder = claimsFolder
    configuration.onWait = { feed.waits($0, forProcess: $1) }
    loops = try await NetworkLoops(
      concurrency.widths.count, transport: options, cache: configuration, cookies: settings.connection.cookieJar?.lines)
    let perHost = settings.perHost ?? (settings.order.isBackground ? 1 : nil)
    var plan = RunPlan(
      mode.strategy, concurrency, ceiling: perHost ?? max(concurrency.jobs, Settings.mostPerHost),
      retry: Self.retry(settings))
    if settings.adaptsJobs || mode == .auto { plan.adaptive = AdaptiveConcurrency(ceiling: concurrency.jobs) }
    plan.order = settings.order.order
    // What comes to a watched list may be urgent, while all lanes are busy.
    plan.looksAhead = settings.order.looksAhead || watches
    downloads = DownloadRun(plan, over: loops, feed: feed)
    (self.mode, self.log) = (mode, log)
  }

  static func configuration(_ settings: Settings, cacheFolder: FilePath?) -> CacheConfiguration {
    var configuration = settings.output.cache
    configuration.directory = FilePath(settings.output.directory)
    configuration.cacheFolder = cacheFolder
    configuration.trust = settings.connection.transport.trust
    return configuration
  }

  /// How lists at addresses are fetched: as files are, one at a time.
  static func listFetching(_ settings: Settings, _ environment: [String: String]) -> ListAtAddress.Fetching {
    var options = settings.connection.transport
    options.width = 1
    let retry = retry(settings)
    return ListAtAddress.Fetching(
      transport: options, folder: TemporaryFolder.path(environment),
      delay: { error, failures, elapsed in
        retry.delay(after: error, failures: failures, elapsed: elapsed, random: .random(in: 0..<1))
      }, failure: { $0.failure(now: WallClock.seconds()) }, maxSize: settings.output.cache.maxSize ?? 256 << 20,
      refusal: settings.output.cache.offline
        ? DownloadError(
          .cache, cause: .detail("no list at an address is kept"), activity: "answering offline") : nil)
  }

  private static func retry(_ settings: Settings) -> RetryPolicy {
    RetryPolicy(retries: settings.retries, maxTime: settings.retryMaxTime)
  }

  /// Downloads everything that the source gives.
  /// - Parameter scopes: by which single downloads are cancelled; nil where the list cannot change.
  /// - Returns: how many files went at a time, and why.
  func run(
    _ source: some RequestSource, scopes: DownloadScopes? = nil,
    onEnd: @escaping @Sendable (DownloadRequest, Result<DownloadOutcome, DownloadError>) -> Void
  ) async -> RunWidth {
    let news = Downloader.News(
      onSplit: { [log] in log.split($0, $1, $2) }, onRetry: { [log] in log.again($0, $1, $2) }, onEnd: onEnd)
    return await downloads.run(source, scopes: scopes, news: news)
  }

  // MARK: While it runs

  /// Holds the run, or lets it go on.
  func pause(_ isPaused: Bool) { downloads.pause(isPaused) }

  /// - Returns: how many; nil for a mode that has one at a time, always.
  func widen(by change: Int) -> Int? { mode == .sequential ? nil : downloads.widen(by: change) }

  func skip(_ id: Int, _ meter: TransferMeter) async { await downloads.skip(id, meter) }

  /// What is known of the transfers that fill a file, the one that began it first.
  func details(of meter: TransferMeter) async -> [TransferDetails] { await loops.details(of: meter) }

  /// Has the next request for each file look at the disk again, and ask its server.
  func askAnew() async { await loops.askAnew() }

  /// Carries out the user's decision on a finished file's name.
  func carryOut(_ decision: NameDecision, on question: Question) async throws(DownloadError) {
    try await loops.carryOut(decision, on: question.outcome, of: question.request)
  }

  /// The run's cookies at its start and by now, lines of Netscape's format; nil if there are none. Secrets.
  func cookies() throws(DownloadError) -> (before: [String], after: [String])? { try loops.cookies() }

  /// Writes what the cache learnt, and ends the connections.
  /// - Returns: what went wrong with the cache without failing a download.
  func close() async -> [CacheWarning] { await loops.close() }
}
