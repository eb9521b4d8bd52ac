public import DownloadModel

/// The life of one download: asked of the store, limited by its host, tried again as the policy says, and told
/// to the board. It touches no byte.
public final class Downloader: Sendable {
  private let store: any DownloadStore
  private let transport: any Transport
  private let board: ProgressBoard
  private let retry: RetryPolicy
  private let hosts: HostLimiter?
  private let clock: any Clock<Duration>
  private let random: @Sendable () -> Double

  /// Bytes that an attempt must gain for the failures before it to be forgotten.
  private static let progress: Int64 = 1 << 20

  /// - Parameters:
  ///   - hosts: nil when the strategy's width is the only limit.
  ///   - clock: waits between attempts; tests pass their own.
  ///   - random: draws from 0 up to, but not including, 1 for the jitter.
  public init(
    store: any DownloadStore, transport: any Transport, board: ProgressBoard, retry: RetryPolicy,
    hosts: HostLimiter?, clock: any Clock<Duration>, random: @escaping @Sendable () -> Double
  ) {
    self.store = store
    self.transport = transport
    self.board = board
    self.retry = retry
    self.hosts = hosts
    self.clock = clock
    self.random = random
  }

  /// Downloads one file to its end; the board learns how it ended.
  public func download(_ request: DownloadRequest) async -> Result<DownloadOutcome, DownloadError> {
    let meter = board.start(request)
    let result: Result<DownloadOutcome, DownloadError>
    do throws(DownloadError) {
      result = .success(
        try await store.file(for: request, meter: meter) { target throws(DownloadError) in
          // Without a capture list: with one, Swift 6.3 no longer takes the closure for nonisolated(nonsending), and
          // each file would leave the store's executor and come back.
          try await self.fetch(request, meter, into: target)
        })
    } catch {
      result = .failure(error.at(request.address))
    }
    board.end(request, result)
    return result
  }

  private nonisolated(nonsending) func fetch(
    _ request: DownloadRequest, _ meter: TransferMeter, into target: any DownloadTarget
  ) async throws(DownloadError) -> TransferReceipt {
    var failures = 0
    var furthest: Int64 = 0
    // Only a limit on the whole time needs to know when it began.
    let stopwatch = retry.maxTime.map { _ in Stopwatch(clock) }
    while true {
      do throws(DownloadError) {
        return try await attempt(request, into: target)
      } catch {
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
        board.retry(request, attempt: failures + 1, after: delay, error: error.at(request.address))
        try await pause(delay)
      }
    }
  }

  private nonisolated(nonsending) func attempt(
    _ request: DownloadRequest, into target: any DownloadTarget
  ) async throws(DownloadError) -> TransferReceipt {
    guard let hosts else { return try await transferUntilWhole(into: target) }
    return try await hosts.withSlot(of: request.address.hostAndPort) { () throws(DownloadError) in
      try await transferUntilWhole(into: target)
    }
  }

  /// A server may send less than was asked for (RFC 9110 §14.2): what it then still owes is no failure.
  private nonisolated(nonsending) func transferUntilWhole(
    into target: any DownloadTarget
  ) async throws(DownloadError) -> TransferReceipt {
    while true {
      let receipt = try await transport.fetch(try target.nextTransfer(), into: target)
      if try target.isWhole(after: receipt) { return receipt }
    }
  }

  private nonisolated(nonsending) func pause(_ delay: Duration) async throws(DownloadError) {
    do {
      try await clock.sleep(for: delay)
    } catch {
      throw .cancelled  // a clock's sleep ends early for no other reason
    }
  }
}

/// Time since it was made, on any clock.
private struct Stopwatch: Sendable {
  let elapsed: @Sendable () -> Duration

  init(_ clock: any Clock<Duration>) { elapsed = Self.started(clock) }

  private static func started<C: Clock>(_ clock: C) -> @Sendable () -> Duration where C.Duration == Duration {
    let start = clock.now
    return { start.duration(to: clock.now) }
  }
}
