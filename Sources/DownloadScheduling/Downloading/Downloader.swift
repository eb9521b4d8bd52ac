public import DownloadModel

/// Runs one download: the store opens it, transfers fill it and are retried by the policy, the store commits
/// it. A request that its host refuses is requeued. The feed is told of each step. It touches no byte itself.
///
/// An actor on its network loop's thread, like the store and the transport that it uses, so that a file never
/// changes threads between them.
public actor Downloader {
  private nonisolated let executor: any SerialExecutor
  public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private let store: any DownloadStore
  private let transport: any Transport
  private let feed: ProgressFeed
  private let retry: RetryPolicy
  private let clock: any Clock<Duration>
  private let random: @Sendable () -> Double
  private let segments: Int
  private let news: News

  /// Callbacks for what happens to files, called at once.
  public struct News: Sendable {
    public typealias Result = Swift.Result<DownloadOutcome, DownloadError>

    /// A file is to be filled by `count` transfers; `rate` is what the last count brought, in bytes a second.
    public var onSplit: @Sendable (DownloadRequest, _ count: Int, _ rate: Double?) -> Void
    /// A failure after which the file is tried again, also if it was only refused and requeued.
    public var onRetry: @Sendable (DownloadRequest, NextAttempt, DownloadError) -> Void
    /// A file ended, well or badly, and does not come again.
    public var onEnd: @Sendable (DownloadRequest, Result) -> Void

    public init(
      onSplit: @escaping @Sendable (DownloadRequest, _ count: Int, _ rate: Double?) -> Void = { _, _, _ in },
      onRetry: @escaping @Sendable (DownloadRequest, NextAttempt, DownloadError) -> Void = { _, _, _ in },
      onEnd: @escaping @Sendable (DownloadRequest, Result) -> Void = { _, _ in }
    ) {
      self.onSplit = onSplit
      self.onRetry = onRetry
      self.onEnd = onEnd
    }
  }

  /// - Parameters:
  ///   - executor: the one of the store and the transport.
  ///   - clock: for the pauses between attempts; tests pass their own.
  ///   - random: draws from 0 up to, but not including, 1 for the jitter.
  ///   - segments: transfers of one large file at a time, at most; 1 for no splitting.
  public init(
    on executor: any SerialExecutor, store: any DownloadStore, transport: any Transport, feed: ProgressFeed,
    retry: RetryPolicy, clock: any Clock<Duration>, random: @escaping @Sendable () -> Double,
    segments: Int = 1, news: News = News()
  ) {
    self.executor = executor
    self.store = store
    self.transport = transport
    self.feed = feed
    self.retry = retry
    self.clock = clock
    self.random = random
    self.segments = segments
    self.news = news
  }

  /// Downloads one file to its end, or until its host refuses it: then it is requeued and comes again.
  public func download(_ request: DownloadRequest, from share: RequestQueueShare) async {
    let waited: Duration?
    switch share.advice(on: request) {
    case .fail(let error):
      return end(request, .failure(error.of(request.address)), share, wasAsked: false)
    case .ask(let time): waited = time
    }
    let meter = feed.start(request)
    do throws(DownloadError) {
      let outcome = try await outcome(of: request, from: store, meter, share, waited)
      end(request, .success(outcome), share, wasAsked: true)
    } catch {
      let error = error.at(request.address)
      if HostLimiter.isRefusal(error) || error.code == .resources { return requeue(request, error, share) }
      end(request, .failure(error), share, wasAsked: true)
    }
  }

  /// Opens, fills and commits the download.
  private func outcome(
    of request: DownloadRequest, from store: some DownloadStore, _ meter: TransferMeter,
    _ share: RequestQueueShare, _ waited: Duration?
  ) async throws(DownloadError) -> DownloadOutcome {
    switch try await store.open(request, meter: meter) {
    case .answered(let outcome): return outcome
    case .missing(let download):
      do throws(DownloadError) {
        while true {
          try await fill(download, for: request, meter, share, waited)
          // Nil: it must be fetched once more.
          if let outcome = try await store.commit(download) { return outcome }
        }
      } catch {
        await store.close(download, after: error)
        throw error
      }
    }
  }

  /// Runs transfers until no bytes are left to request. A server may send less than was asked for (RFC 9110
  /// §14.2), and that is no failure.
  private func fill(
    _ download: any DownloadTarget, for request: DownloadRequest, _ meter: TransferMeter,
    _ share: RequestQueueShare, _ waited: Duration?
  ) async throws(DownloadError) {
    var attempts = Attempts()
    // Only a limit on the whole time needs the time at which it began.
    let stopwatch = retry.maxTime.map { _ in Stopwatch(clock) }
    while true {
      do throws(DownloadError) {
        while let receipt = try await transfer(download, for: request, share, waited) {
          if try download.finish(receipt) { return }
        }
        return
      } catch {
        switch attempts.next(
          after: error, at: meter.position, elapsed: stopwatch?.elapsed() ?? .zero, retry, random: random())
        {
        case .giveUp: throw error
        case .atOnce: continue
        case .after(let next):
          feed.retry(request, next, error: error.at(request.address))
          news.onRetry(request, next, error)
          try await pause(next.delay)
        }
      }
    }
  }

  /// - Returns: nil if no bytes are left to request.
  private func transfer(
    _ download: any DownloadTarget, for request: DownloadRequest, _ share: RequestQueueShare,
    _ waited: Duration?
  ) async throws(DownloadError) -> TransferReceipt? {
    let stage: TransferStage
    if let running = download.takeRunning() {
      stage = .underWay(running)
    } else {
      guard var next = try download.nextTransfer() else { return nil }
      next.waited = waited
      stage = try await transport.run(next, into: download)
    }
    switch stage {
    case .ended(let receipt): return receipt
    case .underWay(let running) where segments == 1: return try await running.receipt()
    case .underWay(let running):
      return try await SegmentedDownload(
        download: download, transport: transport, retry: retry, clock: clock, random: random,
        permits: share.permits(for: request), ceiling: segments
      ) { [onSplit = news.onSplit] in onSplit(request, $0, $1) }.run(running)
    }
  }

  private func pause(_ delay: Duration) async throws(DownloadError) {
    do {
      try await clock.sleep(for: delay)
    } catch {
      throw .cancelled  // a clock's sleep ends early only for a cancelled task
    }
  }

  // MARK: Ends

  private func requeue(_ request: DownloadRequest, _ error: DownloadError, _ share: RequestQueueShare) {
    // It was coalesced with a request that was refused and has reported that; this one was never sent.
    if error.isCoalesced {
      share.requeueUnasked(request)
      return feed.requeue(request, nil, error: error)
    }
    let again =
      error.code == .resources ? share.requeueForRoom(request) : share.requeue(request, after: error)
    guard let again else {
      feed.end(request, .failure(error))
      return news.onEnd(request, .failure(error))
    }
    feed.requeue(request, again, error: error)
    news.onRetry(request, again, error)
  }

  private func end(
    _ request: DownloadRequest, _ result: News.Result, _ share: RequestQueueShare, wasAsked: Bool
  ) {
    var (broke, wasAsked) = (false, wasAsked)
    if case .failure(let error) = result {
      // A coalesced failure was counted for the request that met it.
      wasAsked = wasAsked && !error.isCoalesced
      broke = !error.isCoalesced && (error.code == .reset || error.code == .stalled)
    }
    share.ended(request, wasAsked: wasAsked, broke: broke)
    feed.end(request, result)
    news.onEnd(request, result)
  }
}
