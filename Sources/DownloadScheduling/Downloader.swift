public import DownloadModel

/// The life of one download: asked of the store, tried again as the policy says, given back when its host refuses, and
/// told to the board. It touches no byte.
public final class Downloader: Sendable {
  private let store: any DownloadStore
  private let transport: any Transport
  private let board: ProgressBoard
  private let retry: RetryPolicy
  private let clock: any Clock<Duration>
  private let random: @Sendable () -> Double
  private let segments: Int
  private let onSplit: @Sendable (DownloadRequest, _ count: Int, _ rate: Double?) -> Void
  private let onRetry: @Sendable (DownloadRequest, NextAttempt, DownloadError) -> Void

  /// Bytes that an attempt must gain for the failures before it to be forgotten.
  private static let progress: Int64 = 1 << 20

  /// - Parameters:
  ///   - clock: waits between attempts; tests pass their own.
  ///   - random: draws from 0 up to, but not including, 1 for the jitter.
  ///   - segments: transfers of one large file at a time, at most; 1 for no splitting.
  ///   - onSplit: told when a file is to be fetched by more transfers, and the bytes a second that led to it.
  ///   - onRetry: told of each failure after which the file is tried again, also if that is only its turn to wait.
  public init(
    store: any DownloadStore, transport: any Transport, board: ProgressBoard, retry: RetryPolicy,
    clock: any Clock<Duration>, random: @escaping @Sendable () -> Double, segments: Int = 1,
    onSplit: @escaping @Sendable (DownloadRequest, _ count: Int, _ rate: Double?) -> Void = { _, _, _ in },
    onRetry: @escaping @Sendable (DownloadRequest, NextAttempt, DownloadError) -> Void = { _, _, _ in }
  ) {
    self.onRetry = onRetry
    self.segments = segments
    self.onSplit = onSplit
    self.store = store
    self.transport = transport
    self.board = board
    self.retry = retry
    self.clock = clock
    self.random = random
  }

  /// Downloads one file to its end; the board learns how it ended.
  /// - Returns: nil if its host refused it: it is back in the queue and comes again.
  public nonisolated(nonsending) func download(
    _ request: DownloadRequest, from share: HostQueueShare
  ) async -> Result<DownloadOutcome, DownloadError>? {
    let waited: Duration?
    switch share.queue.advice(on: request) {
    case .fail(let error):
      return end(request, .failure(error.of(request.address)), share, wasAsked: false)
    case .ask(let time): waited = time
    }
    let meter = board.start(request)
    let result: Result<DownloadOutcome, DownloadError>
    do throws(DownloadError) {
      result = .success(
        try await store.file(for: request, meter: meter) { target throws(DownloadError) in
          // Without a capture list: with one, Swift 6.3 no longer takes the closure for nonisolated(nonsending), and
          // each file would leave the store's executor and come back.
          try await self.fetch(request, meter, share, waited, into: target)
        })
    } catch {
      if HostPace.isRefusal(error) || error.code == .resources {
        return putBack(request, error.at(request.address), share)
      }
      result = .failure(error.at(request.address))
    }
    return end(request, result, share, wasAsked: true)
  }

  private func putBack(
    _ request: DownloadRequest, _ error: DownloadError, _ share: HostQueueShare
  ) -> Result<DownloadOutcome, DownloadError>? {
    // It waited for another request, which was refused, and has told: this one is yet to be asked.
    if error.isAnothers {
      share.queue.putBack(request, share: share.index)
      board.putBack(request, nil, error: error)
      return nil
    }
    let queue = share.queue
    let again =
      error.code == .resources
      ? queue.takeBackForRoom(request, share: share.index)
      : queue.takeBack(request, after: error, share: share.index)
    if let again {
      board.putBack(request, again, error: error)
      onRetry(request, again, error)
      return nil
    }
    board.end(request, .failure(error))
    return .failure(error)
  }

  private func end(
    _ request: DownloadRequest, _ result: Result<DownloadOutcome, DownloadError>, _ share: HostQueueShare,
    wasAsked: Bool
  ) -> Result<DownloadOutcome, DownloadError> {
    var (broke, wasAsked) = (false, wasAsked)
    if case .failure(let error) = result {
      // What another request met was counted there.
      wasAsked = wasAsked && !error.isAnothers
      broke = !error.isAnothers && (error.code == .reset || error.code == .stalled)
    }
    share.queue.ended(request, wasAsked: wasAsked, broke: broke, share: share.index)
    board.end(request, result)
    return result
  }

  private nonisolated(nonsending) func fetch(
    _ request: DownloadRequest, _ meter: TransferMeter, _ share: HostQueueShare, _ waited: Duration?,
    into target: any DownloadTarget
  ) async throws(DownloadError) -> TransferReceipt {
    var failures = 0
    var wasForgiven = false
    var furthest: Int64 = 0
    // Only a limit on the whole time needs to know when it began.
    let stopwatch = retry.maxTime.map { _ in Stopwatch(clock) }
    while true {
      do throws(DownloadError) {
        return try await transferUntilWhole(request, share, waited, into: target)
      } catch {
        // Not this file's to wait for: the whole host is left alone, or fewer files go at a time.
        if HostPace.isRefusal(error) || error.code == .resources { throw error }
        // Once a file: a server that closes every connection at once is a failing server.
        if error.wasUnanswered, !wasForgiven {
          wasForgiven = true
          continue
        }
        // What gets on is not given up: retries are counted from the last progress worth the name.
        if meter.position >= furthest + Self.progress {
          furthest = meter.position
          failures = 0
        }
        failures += 1
        guard
          let delay = retry.delay(
            after: error, failures: failures, elapsed: stopwatch?.elapsed() ?? .zero, random: random())
        else { throw error }
        let next = NextAttempt(attempt: failures + 1, retry: failures, of: retry.retries, delay: delay)
        board.retry(request, next, error: error.at(request.address))
        onRetry(request, next, error)
        try await pause(delay)
      }
    }
  }

  /// A server may send less than was asked for (RFC 9110 §14.2): what it then still owes is no failure.
  private nonisolated(nonsending) func transferUntilWhole(
    _ request: DownloadRequest, _ share: HostQueueShare, _ waited: Duration?, into target: any DownloadTarget
  ) async throws(DownloadError) -> TransferReceipt {
    while true {
      let receipt: TransferReceipt
      do throws(DownloadError) {
        receipt = try await transfer(request, share, waited, into: target)
      } catch {
        // More was sent than was asked for, up to what earlier parts of the file have already: no failure.
        guard error.code == .enough else { throw error }
        receipt = TransferReceipt(status: 206, bodyBytes: 0, framing: .length)
      }
      if try target.isWhole(after: receipt) { return receipt }
    }
  }

  private nonisolated(nonsending) func transfer(
    _ request: DownloadRequest, _ share: HostQueueShare, _ waited: Duration?, into target: any DownloadTarget
  ) async throws(DownloadError) -> TransferReceipt {
    var transfer = try target.nextTransfer()
    transfer.waited = waited
    if segments == 1 { return try await transport.fetch(transfer, into: target) }
    switch try await transport.start(transfer, into: target) {
    case .ended(let receipt): return receipt
    case .underWay(let running): return try await split(request, running, share, into: target)
    }
  }

  /// Goes on with a large body that has begun.
  private nonisolated(nonsending) func split(
    _ request: DownloadRequest, _ running: RunningTransfer, _ share: HostQueueShare,
    into target: any DownloadTarget
  ) async throws(DownloadError) -> TransferReceipt {
    guard let target = target as? any SplittableTarget else { return try await running.receipt() }
    let places = HostPlaces(queue: share.queue, host: request.address.hostAndPort, share: share.index)
    return try await SegmentedTransfer(
      target: target, transport: transport, retry: retry, clock: clock, random: random, places: places,
      ceiling: segments
    ) { [onSplit] in onSplit(request, $0, $1) }.run(running)
  }

  private nonisolated(nonsending) func pause(_ delay: Duration) async throws(DownloadError) {
    do {
      try await clock.sleep(for: delay)
    } catch {
      throw .cancelled  // a clock's sleep ends early for no other reason
    }
  }
}
