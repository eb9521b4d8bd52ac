package import DownloadModel

/// Runs one download: the store opens it, transfers fill it, `RetryPolicy` decides about retries, the store commits it.
/// A file that its host refused, or whose next attempt must wait, goes back to the queue. The actor itself reads and
/// writes no bytes.
///
/// An actor on the executor of its network loop, like the store and the transport, so a file never changes threads.
package actor Downloader {
  private nonisolated let executor: any SerialExecutor
  package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private let store: any DownloadStore
  private let transport: any Transport
  private let feed: ProgressFeed
  private let retry: RetryPolicy
  private let clock: any Clock<Duration>
  private let random: @Sendable () -> Double
  private let segments: Int
  private let news: News

  package typealias Result = DownloadResult

  /// Callbacks about files, called synchronously.
  package struct News {
    /// A file is about to use `count` transfers; the previous count reached `rate` bytes a second.
    package var onSplit: @Sendable (DownloadRequest, _ count: Int, _ rate: Double?) -> Void
    /// A failure after which the file is retried or requeued.
    package var onRetry: @Sendable (DownloadRequest, NextAttempt, DownloadError) -> Void
    /// A file ended for good, with or without success.
    package var onEnd: @Sendable (DownloadRequest, Result) -> Void
    /// Asked before a file begins: false if its line was removed since the queue gave it; nil for a fixed list.
    package var isWanted: (@Sendable (DownloadRequest) -> Bool)?

    package init(
      onSplit: @escaping @Sendable (DownloadRequest, _ count: Int, _ rate: Double?) -> Void = { _, _, _ in },
      onRetry: @escaping @Sendable (DownloadRequest, NextAttempt, DownloadError) -> Void = { _, _, _ in },
      onEnd: @escaping @Sendable (DownloadRequest, Result) -> Void = { _, _ in },
      isWanted: (@Sendable (DownloadRequest) -> Bool)? = nil
    ) {
      self.onSplit = onSplit
      self.onRetry = onRetry
      self.onEnd = onEnd
      self.isWanted = isWanted
    }
  }

  /// - Parameter segments: the most transfers of one large file at a time; 1 disables splitting.
  package init(
    on executor: any SerialExecutor, store: any DownloadStore, transport: any Transport, feed: ProgressFeed,
    retry: RetryPolicy, clock: any Clock<Duration>, random: @escaping @Sendable () -> Double,
    segments: Int = 1, news: News = News()
  ) {
    self.executor = executor
    self.store = store
    self.transport = transport
    self.feed = feed
    self.news = news
    self.retry = retry
    self.clock = clock
    self.random = random
    self.segments = segments
  }

  /// Ends files with an error: those in the queue at once, those in flight soon. Their downloaded parts stay, and equal
  /// requests continue. On this actor, no file of its own is between an attempt and the queue.
  package func giveUp(_ ids: Set<Int>, as error: DownloadError, in queue: RequestQueue) async {
    let meters = feed.meters(of: ids)
    for request in queue.withdraw(ids) { tellGivenUp(request, error) }
    for meter in meters { await giveUp(meter, as: error) }
  }

  private func giveUp(_ meter: TransferMeter, as error: DownloadError) async {
    meter.stop(as: error)
    await transport.cancel(meter)
  }

  // A task keeps memory for its deepest call while it is suspended, and thousands are suspended. So the code before and
  // after the suspension points is in functions of its own. The asynchronous ones are `nonisolated(nonsending)`: each
  // call of an isolated one would ask twice for the executor.

  /// Downloads one file until it ends, or until its host refuses it or its next attempt must wait; then it is requeued.
  @inline(never)  // a lane's call must stay a tail call
  package func download(_ request: DownloadRequest, from share: LoopQueue) async {
    let advice = share.advice(on: request)
    let meter = feed.start(request, with: advice.file?.meter)
    if let isWanted = news.isWanted, !isWanted(request) { meter.stop(as: .cancelled) }
    advice.file?.meter.keep(0)
    var failed: BackoffEntry?
    var wasAsked = true
    do {
      let outcome = try await outcome(of: request, from: store, meter, &failed, &wasAsked, share, advice)
      finish(request, .success(outcome), share, failed, meter, wasAsked: wasAsked, advice)
    } catch {
      finish(request, .failure(error.at(request.address)), share, failed, meter, wasAsked: wasAsked, advice)
    }
  }

  /// If the host was given up, the file fails with the same error, unless the stored file is a valid answer.
  /// - Parameter wasAsked: set to false if the stored file is the answer, because that says nothing about the host.
  private nonisolated(nonsending) func outcome(
    of request: DownloadRequest, from store: some DownloadStore, _ meter: TransferMeter,
    _ failed: inout BackoffEntry?, _ wasAsked: inout Bool, _ share: LoopQueue,
    _ advice: RefusedRequests.Record
  ) async throws(DownloadError) -> DownloadOutcome {
    switch try await open(request, in: store, meter) {
    case .answered(let outcome):
      wasAsked = false
      return outcome
    case .missing(let download):
      do throws(DownloadError) {
        if let failure = advice.failure { throw failure.of(request.address) }
        while true {
          try await fill(download, for: request, meter, &failed, share, advice)
          if let outcome = try store.commitAtOnce(download) { return outcome }
          // `nil`: the file must be downloaded once more.
          if let outcome = try await store.commit(download) { return outcome }
        }
      } catch {
        guard let older = await close(download, in: store, after: error, request, meter, failed) else { throw error }
        wasAsked = false
        return older
      }
    }
  }

  @inline(never)
  private nonisolated(nonsending) func open<Store: DownloadStore>(
    _ request: DownloadRequest, in store: Store, _ meter: TransferMeter
  ) async throws(DownloadError) -> OpenedDownload<Store.Download> {
    if let opened = try store.openAtOnce(request, meter: meter) { return opened }
    return try await store.open(request, meter: meter)
  }

  @inline(never)
  private nonisolated(nonsending) func close<Store: DownloadStore>(
    _ download: Store.Download, in store: Store, after error: DownloadError, _ request: DownloadRequest,
    _ meter: TransferMeter, _ failed: BackoffEntry?
  ) async -> DownloadOutcome? {
    await store.close(
      download, after: error,
      comesAgain: failed?.decision.next != nil
        || error.isOfSource && request.atNextSource(meter.named, after: error) != nil)
  }

  /// Runs transfers until no bytes are missing. A server may send less than requested (RFC 9110 §14.2).
  @inline(never)
  private nonisolated(nonsending) func fill(
    _ download: any DownloadTarget, for request: DownloadRequest, _ meter: TransferMeter,
    _ failed: inout BackoffEntry?, _ share: LoopQueue, _ advice: RefusedRequests.Record
  ) async throws(DownloadError) {
    var attempts = advice.file?.attempts ?? Attempts()
    let stopwatch = advice.file?.stopwatch ?? startStopwatch()
    let alarm = stopwatch.flatMap { startAlarm($0, meter) }
    defer { alarm?.cancel() }
    while true {
      do {
        while let receipt = try await transfer(download, for: request, meter, share, advice.news?.waited) {
          if try download.finish(receipt) { return }
        }
        return
      } catch {
        failed = try retry(after: error, &attempts, stopwatch, request, meter)
        if failed != nil { throw error }
      }
    }
  }

  /// - Returns: `nil` if no time limit needs the start time.
  @inline(never)
  private nonisolated func startStopwatch() -> Stopwatch? {
    (retry.maxTime ?? retry.fileTime).map { _ in Stopwatch(clock) }
  }

  /// Gives the file up once its time limit has passed.
  @inline(never)
  private nonisolated func startAlarm(_ stopwatch: Stopwatch, _ meter: TransferMeter) -> Task<Void, any Error>? {
    guard let limit = retry.fileTime else { return nil }
    let error = DownloadError(.tookTooLong, cause: .detail("incomplete after \(limit / .seconds(1)) s"))
    // Unstructured: a task group for each file would also cost files without a limit. It is cancelled when the
    // transfers end.
    return Task {
      try await stopwatch.sleepUntil(limit)
      await giveUp(meter, as: error)
    }
  }

  /// - Returns: `nil` to retry at once.
  @inline(never)
  private nonisolated func retry(
    after error: DownloadError, _ attempts: inout Attempts, _ stopwatch: Stopwatch?,
    _ request: DownloadRequest, _ meter: TransferMeter
  ) throws(DownloadError) -> BackoffEntry? {
    attempts.add(error, at: meter.position)
    let file = RetryDecision.File(
      attempts: attempts, elapsed: stopwatch?.elapsed() ?? .zero, isReceiving: meter.phase == .receiving,
      hasNextSource: request.atNextSource(meter.named, after: error) != nil)
    let decision = RetryDecision.decide(error, file, retry, random: random())
    switch decision {
    case .now: return nil
    case .after(let next):
      feed.retry(request, next, error: error.at(request.address))
      news.onRetry(request, next, error)
      if Task.isCancelled || meter.isStopped { throw .cancelled }
      if next.delay == .zero { return nil }
    default: break
    }
    return BackoffEntry(request, meter, attempts, stopwatch, decision)
  }

  /// - Returns: `nil` if no bytes are missing.
  @inline(never)
  private nonisolated(nonsending) func transfer(
    _ download: any DownloadTarget, for request: DownloadRequest, _ meter: TransferMeter, _ share: LoopQueue,
    _ waited: Duration?
  ) async throws(DownloadError) -> TransferReceipt? {
    if let running = download.takeRunning() {
      return try await rest(of: running, download, for: request, meter, share)
    }
    guard var next = try download.nextTransfer() else { return nil }
    next.waited = waited
    next.onNews = { [host = request.source.hostAndPort, id = request.id] in share.heard($0, of: host, about: id) }
    switch try await transport.run(next, into: download) {
    case .ended(let receipt): return receipt
    case .underWay(let running): return try await rest(of: running, download, for: request, meter, share)
    }
  }

  /// Receives the rest of a long body, with more than one transfer if that is faster.
  @inline(never)
  private nonisolated(nonsending) func rest(
    of running: RunningTransfer, _ download: any DownloadTarget, for request: DownloadRequest,
    _ meter: TransferMeter, _ share: LoopQueue
  ) async throws(DownloadError) -> TransferReceipt {
    if segments == 1 { return try await running.receipt(for: meter) }
    return try await SegmentedDownload(
      download: download, meter: meter, transport: transport, retry: retry, clock: clock, random: random,
      share: share, source: request.source, ceiling: segments
    ) { [onSplit = news.onSplit] in onSplit(request, $0, $1) }.run(running)
  }

  // MARK: Ends

  @inline(never)
  private func finish(
    _ request: DownloadRequest, _ result: Result, _ share: LoopQueue, _ failed: BackoffEntry?,
    _ meter: TransferMeter, wasAsked: Bool, _ advice: RefusedRequests.Record
  ) {
    if advice.failure != nil { return end(request, result, share, meter, wasAsked: false) }
    var result = result
    if case .failure = result, let reason = meter.stopReason, !Task.isCancelled {
      result = .failure(reason.at(request.address))
    } else if case .failure(let error) = result {
      let file = failed ?? BackoffEntry(request, meter)
      if error.isForQueue { return requeue(file, error, share) }
      // A file that shared the failure of an equal file waits for as long as that one.
      if file.decision.next != nil || error.isCoalesced, share.retry(file) { return meter.enter(.idle) }
    }
    end(request, result, share, meter, wasAsked: wasAsked)
  }

  private func requeue(_ file: BackoffEntry, _ error: DownloadError, _ share: LoopQueue) {
    let request = file.request
    feed.requeue(request)
    let next = next(of: request, after: error, file.meter)
    guard let again = share.requeue(file, after: error, next: next).next else {
      return tellEnd(request, .failure(error), file.meter, next)
    }
    if error.isCoalesced { return }
    if again.delay > .zero { feed.retry(request, again, error: error) }
    news.onRetry(request, again, error)
  }

  @inline(never)
  private func end(
    _ request: DownloadRequest, _ result: Result, _ share: LoopQueue, _ meter: TransferMeter,
    wasAsked: Bool
  ) {
    var broke = false
    var wasAsked = wasAsked
    var next: BackoffEntry?
    if case .failure(let error) = result {
      next = self.next(of: request, after: error, meter)
      // A coalesced failure was counted where it happened; a file that the user ended says nothing about its host.
      wasAsked = wasAsked && !error.isCoalesced && !error.isOfUser
      broke = !error.isCoalesced && (error.code == .reset || error.code == .stalled)
    }
    share.ended(request, wasAsked: wasAsked, broke: broke, next: next)
    tellEnd(request, result, meter, next)
  }

  /// - Returns: the file with its next source, if the error is the source's and another source is left; else `nil`.
  private func next(of request: DownloadRequest, after error: DownloadError, _ meter: TransferMeter) -> BackoffEntry? {
    guard error.isOfSource else { return nil }
    let next = request.atNextSource(meter.named, after: error)
    if next != nil || request.isAtMirror { meter.note(error.of(request.source), of: Int(request.mirror)) }
    return Task.isCancelled ? nil : next.map { BackoffEntry($0, meter) }
  }

  /// Reports the end of a file that waited in the queue. The watcher reports a removed line without work by itself.
  private func tellGivenUp(_ request: DownloadRequest, _ error: DownloadError) {
    let result = Result.failure(error.at(request.address))
    if error.code != .cancelled { feed.end(request, result, kept: feed.meters(of: [request.id]).first?.kept ?? 0) }
    news.onEnd(request, result)
  }

  private func tellEnd(_ request: DownloadRequest, _ result: Result, _ meter: TransferMeter, _ next: BackoffEntry?) {
    var result = result
    if case .failure(let error) = result {
      if let source = next?.request.source {
        let attempt = NextAttempt(at: source)
        feed.retry(request, attempt, error: error)
        return news.onRetry(request, attempt, error)
      }
      let tried = meter.tried
      if tried.count > 1, error.isOfSource { result = .failure(error.after(tried).of(request.address)) }
    }
    feed.end(request, result, kept: meter.kept)
    news.onEnd(request, result)
  }
}
