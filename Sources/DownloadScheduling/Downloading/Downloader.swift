package import DownloadModel

/// Runs one download: the store opens it, transfers fill it and are retried by the policy, the store commits it. What
/// its host refuses, and what waits for its next attempt, goes back to the queue. It touches no byte itself.
///
/// An actor on its network loop's thread, as the store and the transport are, so that a file changes no threads.
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
  /// Files that were given up and have not ended yet, and how they are to end; mostly none.
  private var givenUp: [Int: DownloadError] = [:]

  package typealias Result = DownloadResult

  /// Callbacks for what happens to files, called at once.
  package struct News: Sendable {
    /// A file is to be filled by `count` transfers; the last count brought `rate`, in bytes a second.
    package var onSplit: @Sendable (DownloadRequest, _ count: Int, _ rate: Double?) -> Void
    /// A failure after which the file is tried again, or requeued.
    package var onRetry: @Sendable (DownloadRequest, NextAttempt, DownloadError) -> Void
    /// A file ended, well or badly, and does not come again.
    package var onEnd: @Sendable (DownloadRequest, Result) -> Void

    package init(
      onSplit: @escaping @Sendable (DownloadRequest, _ count: Int, _ rate: Double?) -> Void = { _, _, _ in },
      onRetry: @escaping @Sendable (DownloadRequest, NextAttempt, DownloadError) -> Void = { _, _, _ in },
      onEnd: @escaping @Sendable (DownloadRequest, Result) -> Void = { _, _ in }
    ) {
      self.onSplit = onSplit
      self.onRetry = onRetry
      self.onEnd = onEnd
    }
  }

  /// - Parameter segments: transfers of one large file at a time, at most; 1 for no splitting.
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

  /// Gives one file up for this run: it ends with the error, and keeps the downloaded part. Equal requests go on.
  /// - Returns: whether the file is under way here; if not, it will be given up once it comes here.
  package func giveUp(_ id: Int, _ meter: TransferMeter, as error: DownloadError = .skipped) async -> Bool {
    givenUp[id] = error
    return await transport.cancel(meter)
  }

  /// Another downloader has the file.
  package func forget(givenUp id: Int) { givenUp[id] = nil }

  // A task keeps memory for its deepest call while it waits, and thousands wait: so what happens before and after the
  // waits is in functions of its own.

  /// Downloads one file to its end, or until its host refuses it or its next attempt must wait: then it comes again.
  @inline(never)  // a lane's call of it must stay a tail call
  package func download(_ request: DownloadRequest, from share: RequestQueueShare) async {
    let advice = share.advice(on: request)
    if !givenUp.isEmpty, let error = givenUp.removeValue(forKey: request.id) {
      return end(request, .failure(error.at(request.address)), share, wasAsked: false)
    }
    let meter = feed.start(request, with: advice.file?.meter)
    advice.file?.meter.keep(0)
    var resting: RestingFile?
    var wasAsked = true
    let result: Result
    do {
      result = .success(try await outcome(of: request, from: store, meter, &resting, &wasAsked, share, advice))
    } catch {
      result = .failure(error.at(request.address))
    }
    if advice.failure != nil { return end(request, result, share, meter, wasAsked: false) }
    finish(request, result, share, resting, meter, wasAsked: wasAsked)
  }

  /// If the host was given up it fails as that did, unless what is stored can be the answer.
  /// - Parameter wasAsked: becomes false where what is stored is the answer, which says nothing of the host.
  private func outcome(
    of request: DownloadRequest, from store: some DownloadStore, _ meter: TransferMeter,
    _ resting: inout RestingFile?, _ wasAsked: inout Bool, _ share: RequestQueueShare,
    _ advice: RefusedRequests.Record
  ) async throws(DownloadError) -> DownloadOutcome {
    switch try await store.open(request, meter: meter) {
    case .answered(let outcome):
      wasAsked = false
      return outcome
    case .missing(let download):
      do throws(DownloadError) {
        if let failure = advice.failure { throw failure.of(request.address) }
        while true {
          try await fill(download, for: request, meter, &resting, share, advice)
          // Nil: it must be fetched once more.
          if let outcome = try await store.commit(download) { return outcome }
        }
      } catch {
        guard
          let older = await store.close(
            download, after: error,
            comesAgain: resting != nil || error.overtaken != nil
              || error.isOfSource && request.atNextSource(meter.named) != nil)
        else { throw error }
        wasAsked = false
        return older
      }
    }
  }

  /// Runs transfers until no bytes are left to request. A server may send less than was asked for (RFC 9110 §14.2).
  private func fill(
    _ download: any DownloadTarget, for request: DownloadRequest, _ meter: TransferMeter,
    _ resting: inout RestingFile?, _ share: RequestQueueShare, _ advice: RefusedRequests.Record
  ) async throws(DownloadError) {
    var attempts = advice.file?.attempts ?? Attempts()
    let stopwatch = advice.file?.stopwatch ?? startStopwatch()
    let alarm = stopwatch.flatMap { startAlarm($0, request.id, meter) }
    defer { alarm?.cancel() }
    while true {
      do {
        while let receipt = try await transfer(download, for: request, share, advice.waited) {
          if try download.finish(receipt) { return }
        }
        return
      } catch {
        // Its host may have refused it, and its time goes on.
        if let stopwatch { share.goOn(with: RestingFile(request, meter, attempts, stopwatch)) }
        resting = try pause(after: error, &attempts, stopwatch, request, meter)
        if resting != nil { throw error }
      }
    }
  }

  /// - Returns: nil where no limit on the whole time needs to know when it began.
  @inline(never)
  private func startStopwatch() -> Stopwatch? { (retry.maxTime ?? retry.fileTime).map { _ in Stopwatch(clock) } }

  /// Gives the file up once it has taken too long.
  @inline(never)
  private func startAlarm(_ stopwatch: Stopwatch, _ id: Int, _ meter: TransferMeter) -> Task<Void, any Error>? {
    guard let limit = retry.fileTime else { return nil }
    let error = DownloadError(.tookTooLong, cause: .detail("incomplete after \(limit / .seconds(1)) s"))
    // Unstructured, as a group for each file would cost those without a limit too; it ends with the transfers.
    return Task {
      try await stopwatch.sleepUntil(limit)
      // Again, as segments that pause between two attempts are no transfers.
      while !Task.isCancelled {
        _ = await giveUp(id, meter, as: error)
        try await clock.sleep(for: .seconds(1))
      }
    }
  }

  /// - Returns: nil to try again at once.
  /// - Throws: the error, if the file is not tried again.
  @inline(never)
  private func pause(
    after error: DownloadError, _ attempts: inout Attempts, _ stopwatch: Stopwatch?,
    _ request: DownloadRequest, _ meter: TransferMeter
  ) throws(DownloadError) -> RestingFile? {
    let elapsed = stopwatch?.elapsed() ?? .zero
    switch attempts.next(after: error, at: meter.position, elapsed: elapsed, retry, random: random()) {
    case .giveUp: throw error
    case .atOnce: return nil
    case .after(let next):
      // A source that sent bytes may continue with them; a slow one would only be slow again.
      let mayContinue = meter.phase == .receiving && error.code != .tooSlow
      if error.isOfSource, !mayContinue, request.atNextSource(meter.named) != nil { throw error }
      feed.retry(request, next, error: error.at(request.address))
      news.onRetry(request, next, error)
      if Task.isCancelled || givenUp[request.id] != nil { throw .cancelled }
      return next.delay > .zero ? RestingFile(request, meter, attempts, stopwatch, delay: next.delay) : nil
    }
  }

  /// - Returns: nil if no bytes are left to request.
  private func transfer(
    _ download: any DownloadTarget, for request: DownloadRequest, _ share: RequestQueueShare, _ waited: Duration?
  ) async throws(DownloadError) -> TransferReceipt? {
    if !givenUp.isEmpty, givenUp[request.id] != nil { throw .cancelled }
    if let running = download.takeRunning() { return try await rest(of: running, download, for: request, share) }
    guard var next = try download.nextTransfer() else { return nil }
    next.waited = waited
    next.onAnswer = { [host = request.source.hostAndPort] in share.answered($0, at: host) }
    switch try await transport.run(next, into: download) {
    case .ended(let receipt): return receipt
    case .underWay(let running): return try await rest(of: running, download, for: request, share)
    }
  }

  /// Receives the rest of a long body, by more than one transfer if they make it faster.
  @inline(never)
  private func rest(
    of running: RunningTransfer, _ download: any DownloadTarget, for request: DownloadRequest,
    _ share: RequestQueueShare
  ) async throws(DownloadError) -> TransferReceipt {
    if segments == 1 { return try await running.receipt() }
    return try await SegmentedDownload(
      download: download, transport: transport, retry: retry, clock: clock, random: random,
      share: share, host: request.source.hostAndPort, ceiling: segments
    ) { [onSplit = news.onSplit] in onSplit(request, $0, $1) }.run(running)
  }

  // MARK: Ends

  @inline(never)
  private func finish(
    _ request: DownloadRequest, _ result: Result, _ share: RequestQueueShare, _ resting: RestingFile?,
    _ meter: TransferMeter, wasAsked: Bool
  ) {
    var result = result
    if !givenUp.isEmpty, let reason = givenUp.removeValue(forKey: request.id), case .failure = result,
      !Task.isCancelled
    {
      result = .failure(reason.at(request.address))
    } else if case .failure(let error) = result {
      if HostLimiter.isRefusal(error) || error.code == .resources {
        return requeue(request, error, share, meter)
      }
      // What shared the failure of an equal one rests with that.
      if resting != nil || error.isCoalesced,
        share.rest(resting ?? RestingFile(request, meter), alongEqual: resting == nil)
      {
        return meter.enter(.idle)
      }
    }
    end(request, result, share, meter, wasAsked: wasAsked)
  }

  private func requeue(
    _ request: DownloadRequest, _ error: DownloadError, _ share: RequestQueueShare, _ meter: TransferMeter
  ) {
    // It was coalesced with a request that has reported the refusal; this one was never sent.
    if error.isCoalesced {
      share.requeueUnasked(request)
      return feed.requeue(request, nil, error: error)
    }
    // Its bytes of this run stay counted.
    let next = error.overtaken == nil ? next(of: request, after: error, meter) : RestingFile(request, meter)
    guard let again = share.requeue(request, after: error, next: next) else {
      return tellEnd(request, .failure(error), meter, next)
    }
    feed.requeue(request, again, error: error)
    news.onRetry(request, again, error)
  }

  private func end(
    _ request: DownloadRequest, _ result: Result, _ share: RequestQueueShare, _ meter: TransferMeter? = nil,
    wasAsked: Bool
  ) {
    var broke = false
    var wasAsked = wasAsked
    var next: RestingFile?
    if case .failure(let error) = result {
      next = self.next(of: request, after: error, meter)
      // A coalesced failure was counted where it was met; a file that the user ended says nothing of its host.
      wasAsked = wasAsked && !error.isCoalesced && !error.isOfUser
      broke = !error.isCoalesced && (error.code == .reset || error.code == .stalled)
    }
    share.ended(request, wasAsked: wasAsked, broke: broke, next: next)
    tellEnd(request, result, meter, next)
  }

  /// - Returns: the file at its next address, if that may do better; nil if it has none.
  private func next(of request: DownloadRequest, after error: DownloadError, _ meter: TransferMeter?) -> RestingFile? {
    guard let meter, error.isOfSource else { return nil }
    let next = request.atNextSource(meter.named)
    if next != nil || request.isAtMirror { meter.note(error.of(request.source), of: Int(request.mirror)) }
    return Task.isCancelled ? nil : next.map { RestingFile($0, meter) }
  }

  private func tellEnd(_ request: DownloadRequest, _ result: Result, _ meter: TransferMeter?, _ next: RestingFile?) {
    var result = result
    if case .failure(let error) = result, let tried = meter?.tried {
      if let source = next?.request.source {
        let attempt = NextAttempt(attempt: 1, retry: 0, of: nil, delay: .zero, at: source)
        feed.retry(request, attempt, error: error)
        return news.onRetry(request, attempt, error)
      }
      if tried.count > 1, error.isOfSource { result = .failure(error.after(tried).of(request.address)) }
    }
    feed.end(request, result, kept: meter?.kept ?? 0)
    news.onEnd(request, result)
  }
}
