import DownloadCaching
public import DownloadModel
public import DownloadScheduling
import FileReceiving
import Synchronization
import SystemPackage

/// A session of downloads into one folder. It owns network loops with their connections, and the cache.
///
///     let downloads = try await Downloads(into: "files")
///     let file = try await downloads.download("https://example.org/a.iso")
///     for try await event in downloads.download(addresses, strategy: .taskGroup(width: 16)) { … }
///     await downloads.close()
///
/// `withDownloads` closes the session at the end of its scope. Any number of tasks may use it: they share connections,
/// the rate limit and the knowledge about files; equal URLs in flight are downloaded once. It writes to no standard
/// stream, and makes the process ignore SIGPIPE, as every program with sockets must.
public final class Downloads: Sendable {
  private struct State {
    var isClosed = false
    var lastCall = 0
    var calls: [Int: Close] = [:]
  }

  /// Ends a call, and returns when it has ended.
  private typealias Close = @Sendable () async -> Void

  private let configuration: DownloadConfiguration
  private let loops: NetworkLoops
  private let names: NameNumbers
  private let limit: CallLimit
  private let state = Lock(State())

  /// Opens a session.
  /// - Throws: `.configuration` for an invalid value; `.folder` if the folder for files cannot be used; `.transport` or
  ///   `.resources` if no network loop could be started.
  public init(_ configuration: DownloadConfiguration) async throws(DownloadError) {
    let names = NameNumbers()
    loops = try await NetworkLoops(
      configuration.loops, transport: configuration.transport(), cache: configuration.cache(names: names))
    limit = CallLimit(configuration.jobs, perHost: configuration.perHost)
    self.configuration = configuration
    self.names = names
  }

  /// Opens a session with the most common settings (`DownloadConfiguration`).
  /// - Throws: as the other initialiser.
  public convenience init(into directory: String, cacheFolder: String? = nil) async throws(DownloadError) {
    try await self.init(DownloadConfiguration(directory: directory, cacheFolder: cacheFolder))
  }

  /// Closes a session that is still open.
  deinit {
    guard !state.withLock({ $0.isClosed }) else { return }
    // Unstructured, because a deinitialiser cannot wait.
    Task { [loops] in await loops.close() }
  }

  // MARK: One file

  /// Downloads one file, or confirms the existing one; waits while `jobs` or `perHost` allow no further call.
  ///
  /// Cancelling the task ends the download at once, and keeps what can be resumed.
  /// - Parameter control: for its progress, and to pause it.
  /// - Throws: the failure of the download; `.badAddress` or `.configuration` for an invalid item; `.cancelled`;
  ///   `.closed`.
  public func download(
    _ item: DownloadItem, control: DownloadControl? = nil
  ) async throws(DownloadError) -> DownloadedFile {
    defer { control?.end() }
    let request = try DownloadRequest(item, 0, names)
    let attempt: DownloadControl.Attempt = { [self] in await run(request, feed: $0) }
    let whole: @Sendable () async -> DownloadResult = {
      guard let control else { return await attempt(ProgressFeed()) }
      return await control.run(item, attempt) ?? .failure(.cancelled.at(request.address))
    }
    guard let work = begin(whole) else { throw DownloadError(.closed).at(request.address) }
    let result = await withTaskCancellationHandler {
      await work.value
    } onCancel: {
      work.cancel()
    }
    if case .failure(let error) = result, error.code == .cancelled, !Task.isCancelled {
      throw DownloadError(.closed).at(request.address)
    }
    return try result.get()
  }

  /// The same for a URL.
  /// - Parameter name: of the file in the session's folder; `nil` for the one that the server or the URL gives.
  public func download(
    _ address: String, as name: String? = nil, checksum: ContentDigest? = nil, control: DownloadControl? = nil
  ) async throws(DownloadError) -> DownloadedFile {
    try await download(DownloadItem(address, name: name, checksum: checksum), control: control)
  }

  private func run(_ request: DownloadRequest, feed: ProgressFeed) async -> DownloadResult {
    let host = request.address.hostAndPort
    guard await limit.enter(host) else { return .failure(.cancelled.at(request.address)) }
    defer { limit.leave(host) }
    await askAnew()
    let loop = Int(UInt(bitPattern: request.address.resourceHash) % UInt(loops.all.count))
    let run = DownloadRun(configuration.planOfOne(on: loop), over: loops, feed: feed)
    let end = Lock<DownloadResult?>(nil)
    let news = Downloader.News(onEnd: { _, result in end.withLock { $0 = result } })
    _ = await run.run(RequestList(CollectionOfOne(request)), news: news)
    return end.withLock { $0 } ?? .failure(.cancelled.at(request.address))
  }

  // MARK: A list

  /// Downloads a list, and reports the events of its files. Nothing starts before it is iterated.
  /// - Parameters:
  ///   - items: taken as they are needed; taking the next one must not block. If an item of a collection `isFirst`, up
  ///     to 65,536 are read ahead.
  ///   - strategy: in which order, and how many at a time.
  ///   - progressInterval: the interval of progress events; `nil` for outcomes only.
  public func download(
    _ items: some Sequence<DownloadItem> & Sendable, strategy: Schedule = .taskGroup(),
    progressInterval: Duration? = .milliseconds(100)
  ) -> DownloadEvents {
    DownloadEvents { [self] in
      let looksAhead = items is any Collection && items.contains { $0.isFirst }
      return begin(AnyIterator(items.makeIterator()), strategy, progressInterval, looksAhead: looksAhead)
    }
  }

  /// The same for URLs.
  public func download(
    _ addresses: some Sequence<String> & Sendable, strategy: Schedule = .taskGroup(),
    progressInterval: Duration? = .milliseconds(100)
  ) -> DownloadEvents {
    DownloadEvents { [self] in
      begin(AnyIterator(addresses.lazy.map { DownloadItem($0) }.makeIterator()), strategy, progressInterval)
    }
  }

  private func begin(
    _ items: sending AnyIterator<DownloadItem>, _ schedule: Schedule, _ interval: Duration?,
    looksAhead: Bool = false
  ) -> DownloadEvents.Owner {
    let call = ListCall(items, names: names)
    let work = begin { [self] in
      await run(call, schedule, interval, looksAhead: looksAhead)
    } close: {
      call.stop(DownloadError(.closed))
    }
    if work == nil {
      call.stop(DownloadError(.closed))
      call.finish()
    }
    return DownloadEvents.Owner(call, work)
  }

  private func run(
    _ call: ListCall, _ schedule: Schedule, _ interval: Duration?, looksAhead: Bool
  ) async {
    await askAnew()
    let feed = ProgressFeed()
    var plan = configuration.plan(schedule, loops: loops.all.count)
    plan.looksAhead = looksAhead
    let run = DownloadRun(plan, over: loops, feed: feed)
    let news = Downloader.News(onRetry: { call.retries($0, $1, $2) }, onEnd: { call.ended($0, $1) })
    await withTaskGroup { group in
      if let interval {
        let reader = feed.reader(of: .files)
        group.addTask {
          // A clock's sleep ends early only for a cancelled task.
          while (try? await Task.sleep(for: interval)) != nil { call.look(reader) }
        }
      }
      _ = await run.run(call, news: news)
      group.cancelAll()
    }
    call.finish()
  }

  /// Makes a call ask servers by its own rules, instead of reusing the answers of the previous call.
  private func askAnew() async { if configuration.cacheFolder != nil { await loops.askAnew() } }

  // MARK: The cache

  /// Deletes the index of earlier downloads. No downloaded file is touched, and downloads in flight continue.
  /// - Throws: `.cache`, `.disk` or `.folder`, with the path.
  public func clearCache() async throws(DownloadError) {
    await loops.askAnew()
    guard let folder = configuration.cacheFolder else { return }
    await loops.writeRows()
    try await Self.clearCache(in: folder)
  }

  /// The same for a cache folder without a session.
  public static func clearCache(in folder: String) async throws(DownloadError) {
    let cache = CacheAdministration(FilePath(folder))
    do throws(DownloadError) { _ = try await cache.clear() } catch {
      _ = await cache.close()
      throw error
    }
    _ = await cache.close()
  }

  // MARK: The end

  /// Ends downloads in flight, writes the index of finished files, and closes the connections, once.
  /// - Returns: problems with the cache that failed no download.
  @discardableResult
  public func close() async -> [Warning] {
    let calls = state.withLock { state -> [Close]? in
      defer { state.isClosed = true }
      return state.isClosed ? nil : Array(state.calls.values)
    }
    guard let calls else { return [] }
    await withDiscardingTaskGroup { group in
      for close in calls { group.addTask(operation: close) }
    }
    return await loops.close().map { Warning($0) }
  }

  /// Starts work that the session's `close` ends and waits for.
  /// - Returns: `nil` if the session is closed.
  private func begin<Value: Sendable>(
    _ work: @escaping @Sendable () async -> Value, close: @escaping @Sendable () -> Void = {}
  ) -> Task<Value, Never>? {
    state.withLock { state in
      guard !state.isClosed else { return nil }
      state.lastCall += 1
      let number = state.lastCall
      // Unstructured: `close` can cancel and await it.
      let task = Task {
        defer { self.state.withLock { $0.calls[number] = nil } }
        return await work()
      }
      state.calls[number] = {
        close()
        task.cancel()
        _ = await task.value
      }
      return task
    }
  }

  /// A problem with the cache that failed no download.
  public struct Warning: Sendable, Equatable {
    /// A word for programs, such as `unusable`.
    public let kind: String
    /// The folder or file of the cache.
    public let path: String
    /// The cause; empty if there is nothing to add.
    public let detail: String

    init(_ warning: CacheWarning) {
      (kind, path, detail) = (warning.kind.rawValue, warning.path.string, warning.detail)
    }
  }
}

extension Downloads {
  /// A strategy, and how many files it may download at a time.
  public struct Schedule: Sendable {
    let strategy: any DownloadStrategy
    /// `nil` for as many as help, at most `DownloadConfiguration.jobs`.
    let width: Int?
    /// Whether the strategy is run once, over all of the list.
    let isWhole: Bool
    let mode: DownloadMode

    private init(_ strategy: any DownloadStrategy, _ width: Int?, isWhole: Bool = false, mode: DownloadMode = .parallel)
    {
      self.strategy = strategy
      self.isWhole = isWhole
      self.mode = mode
      self.width = width.map { max(1, $0) }
    }

    /// One file after the other over one connection, never in segments.
    public static let sequential = Schedule(SequentialStrategy(), 1, mode: .sequential)

    /// `width` lanes, at least 1, made with `async let`; `nil` for as many as help (`DownloadConfiguration.jobs`).
    public static func asyncLet(width: Int? = nil) -> Self { Self(AsyncLetStrategy(), width) }

    /// One task for each file, `width` at a time, at least 1; `nil` for as many as help (`DownloadConfiguration.jobs`).
    public static func taskGroup(width: Int? = nil) -> Self { Self(TaskGroupStrategy(), width) }

    /// A program's own strategy, run once over the whole list, on one loop; it must not exceed `width` files at a time.
    ///
    /// It must download each request that it takes, once, before `run` returns: the list ends only when all requests
    /// that it took have ended. A request that was not downloaded fails as `skipped`; requests left in the source have
    /// no outcome.
    public static func own(_ strategy: some DownloadStrategy, width: Int) -> Self {
      Self(strategy, width, isWhole: true)
    }
  }
}

extension Downloads {
  /// Limits the parallel single downloads of a session, in total and for each host; a list has its own queue.
  final class CallLimit: Sendable {
    private struct State {
      var free: Int
      var underWay: [String: Int] = [:]
    }

    private let state: Waiters<State>
    private let perHost: Int

    init(_ count: Int, perHost: Int?) {
      state = Waiters(State(free: max(1, count)))
      self.perHost = max(1, perHost ?? count)
    }

    /// Suspends until a download from a host may start.
    /// - Returns: false if the task was cancelled meanwhile; otherwise `leave` must be called.
    func enter(_ host: String) async -> Bool {
      await state.wait { [perHost] state in
        guard state.free > 0, state.underWay[host, default: 0] < perHost else { return nil }
        state.free -= 1
        state.underWay[host, default: 0] += 1
        return true
      } ?? false
    }

    func leave(_ host: String) {
      state.withLock { state in
        state.free += 1
        state.underWay[host] = state.underWay[host].flatMap { $0 > 1 ? $0 - 1 : nil }
      }
    }
  }
}

// MARK: Names of the lower layers

// A user of this library sees only these of the lower layers' names. With the upcoming feature MemberImportVisibility a
// program also imports DownloadModel to use their members, and DownloadScheduling to write a strategy.

/// The result of one file that did not fail: its path, its size, and the proof that it is correct.
public typealias DownloadedFile = DownloadOutcome

/// A failure of one download, or of the session: its code, cause, address and path.
public typealias DownloadError = DownloadModel.DownloadError

/// The proof that a file is correct: a checksum, the length that its server gave, or nothing.
public typealias Proof = DownloadModel.Proof

/// A checksum: `ContentDigest("sha256:…")`, or the digits alone.
public typealias ContentDigest = DownloadModel.ContentDigest

/// An attempt that follows a temporary failure.
public typealias NextAttempt = DownloadModel.NextAttempt

/// A way to run a list: in which order, and how many at a time. A program's own type may conform to it.
public typealias DownloadStrategy = DownloadScheduling.DownloadStrategy

/// The source from which a strategy takes requests: each request is given once.
public typealias RequestSource = DownloadModel.RequestSource

/// One file of a list, as a strategy sees it.
public typealias DownloadRequest = DownloadModel.DownloadRequest

/// One file after the other.
public typealias SequentialStrategy = DownloadScheduling.SequentialStrategy

/// Lanes that each run one file after the other, made with `async let`.
public typealias AsyncLetStrategy = DownloadScheduling.AsyncLetStrategy

/// A task for each file; the next starts as soon as one ends.
public typealias TaskGroupStrategy = DownloadScheduling.TaskGroupStrategy
