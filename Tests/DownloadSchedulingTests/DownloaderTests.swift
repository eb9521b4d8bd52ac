import DownloadModel
import DownloadScheduling
import Synchronization
import TestSupport
import Testing

@Suite("One download: tried again as the policy says, told to the board, cancelled while it waits")
struct DownloaderTests {
  private struct Store: DownloadStore {
    func file(
      for request: DownloadRequest, meter: TransferMeter,
      fetch: @escaping Fetch
    ) async throws(DownloadError) -> DownloadOutcome {
      let receipt = try await fetch(Target(address: request.address))
      return DownloadOutcome(
        kind: .fetched, path: "f", size: receipt.bodyBytes, transferred: receipt.bodyBytes)
    }
  }

  private struct Target: DownloadTarget {
    let address: Address
    func nextTransfer() throws(DownloadError) -> TransferRequest { TransferRequest(address: address) }
    func isWhole(after receipt: TransferReceipt) throws(DownloadError) -> Bool { true }
    func accept(_ head: ResponseHead) throws(DownloadError) -> BodyDisposition { .write }
    func write(_ bytes: UnsafeRawBufferPointer) throws(DownloadError) {}
  }

  private let reset = DownloadError(.reset, isPassing: true)

  private func downloader(
    _ transport: FakeTransport, _ board: ProgressBoard, _ clock: ManualClock, retries: Int = 5
  ) -> Downloader {
    Downloader(
      store: Store(), transport: transport, board: board, retry: RetryPolicy(retries: retries),
      clock: clock, random: { 0.5 })
  }

  private func queue(_ clock: ManualClock) -> HostQueue {
    HostQueue(RequestList([]), ceiling: 2, retry: RetryPolicy(), clock: clock, random: { 0.5 })
  }

  @Test func aPassingFailureIsTriedAgainAfterItsDelay() async throws {
    let (transport, board, clock) = (FakeTransport(), ProgressBoard(isWatched: true), ManualClock())
    let request = DownloadRequest(id: 0, address: try Address("http://a/f"))
    transport.answer(request.address, .failure(reset), .failure(reset), .ok([1, 2, 3]))
    let run = Task { [self] in
      await downloader(transport, board, clock).download(request, from: HostQueueShare(queue(clock), 0))
    }
    try await clock.waitForSleepers(1)
    clock.advance(by: .milliseconds(250))
    try await clock.waitForSleepers(1)
    #expect(transport.attempts.count == 2)
    clock.advance(by: .milliseconds(500))
    #expect(await run.value == .success(DownloadOutcome(kind: .fetched, path: "f", size: 3, transferred: 3)))
    #expect(clock.requestedSleeps == [.milliseconds(250), .milliseconds(500)])
    let sample = board.take()
    #expect(sample.tally.fetched == 1)
    #expect(sample.active.isEmpty)
    #expect(sample.events.count == 3)
  }

  private struct Waiting: DownloadStore {
    let error: DownloadError
    func file(
      for request: DownloadRequest, meter: TransferMeter, fetch: @escaping Fetch
    ) async throws(DownloadError) -> DownloadOutcome { throw error }
  }

  /// Found by trial: who waited for another's download told its 429 as its own, and the host was asked for half as much,
  /// and left alone for longer, with each of them. Here the host would want quiet: nobody advances the clock.
  @Test(.timeLimit(.minutes(5))) func aRefusalOfAnotherIsNoRefusal() async throws {
    let (board, clock) = (ProgressBoard(isWatched: true), ManualClock())
    let busy = DownloadError(.status, cause: .http(status: 429), isPassing: true)
    let request = DownloadRequest(id: 0, address: try Address("http://a/f"))
    let queue = HostQueue(
      RequestList([request]), ceiling: 2, retry: RetryPolicy(retries: 0), clock: clock, random: { 0.5 })
    let downloader = Downloader(
      store: Waiting(error: busy.metByAnother), transport: FakeTransport(), board: board,
      retry: RetryPolicy(),
      clock: clock, random: { 0.5 })
    for _ in 0..<3 {
      let given = try #require(await queue.next())
      #expect(await downloader.download(given, from: HostQueueShare(queue, 0)) == nil)
    }
    #expect(board.take().tally == ProgressTally())
    #expect(clock.requestedSleeps.isEmpty)
  }

  /// The server had closed a kept connection: the request is made again at once, and not counted, but once only.
  @Test func whatWasNotAnsweredIsAskedAgainAtOnce() async throws {
    let (transport, board, clock) = (FakeTransport(), ProgressBoard(isWatched: true), ManualClock())
    let request = DownloadRequest(id: 0, address: try Address("http://a/f"))
    let stale = DownloadError(.reset, isPassing: true, wasUnanswered: true)
    transport.answer(request.address, .failure(stale), .ok([1, 2, 3]))
    let result = await downloader(transport, board, clock, retries: 0).download(
      request, from: HostQueueShare(queue(clock), 0))
    #expect(result == .success(DownloadOutcome(kind: .fetched, path: "f", size: 3, transferred: 3)))
    #expect(board.take().events.count == 1)

    let other = DownloadRequest(id: 1, address: try Address("http://a/g"))
    transport.answer(other.address, .failure(stale), .failure(stale))
    #expect(
      await downloader(transport, board, clock, retries: 0).download(
        other, from: HostQueueShare(queue(clock), 0)) == .failure(stale.at(other.address)))
    #expect(transport.attempts.count == 4)
    #expect(clock.requestedSleeps.isEmpty)
  }

  @Test func retriesEnd() async throws {
    let (transport, board, clock) = (FakeTransport(), ProgressBoard(isWatched: false), ManualClock())
    let request = DownloadRequest(id: 0, address: try Address("http://a/f"))
    transport.answer(request.address, .failure(reset))
    let run = Task { [self] in
      await downloader(transport, board, clock, retries: 1).download(
        request, from: HostQueueShare(queue(clock), 0))
    }
    try await clock.waitForSleepers(1)
    clock.advance(by: .seconds(1))
    #expect(await run.value == .failure(reset.at(request.address)))
    #expect(transport.attempts.count == 2)
    #expect(board.tally.failed == 1)
    #expect(board.tally.failedForGood == 0)
  }

  /// A server that sends past the end of the range: what it sent up to there is good, and the file goes on.
  @Test func enoughIsNoFailure() async throws {
    let (transport, board, clock) = (FakeTransport(), ProgressBoard(isWatched: false), ManualClock())
    let request = DownloadRequest(id: 0, address: try Address("http://a/f"))
    transport.answer(request.address, .failure(.enough))
    let result = await downloader(transport, board, clock).download(
      request, from: HostQueueShare(queue(clock), 0))
    #expect(result == .success(DownloadOutcome(kind: .fetched, path: "f", size: 0)))
    #expect(board.tally.failed == 0)
  }

  @Test func aPermanentFailureIsNotTriedAgain() async throws {
    let (transport, board, clock) = (FakeTransport(), ProgressBoard(isWatched: false), ManualClock())
    let request = DownloadRequest(id: 0, address: try Address("http://a/f"))
    let error = DownloadError(.certificate)
    transport.answer(request.address, .failure(error))
    #expect(
      await downloader(transport, board, clock).download(request, from: HostQueueShare(queue(clock), 0))
        == .failure(error.at(request.address)))
    #expect(transport.attempts.count == 1)
    #expect(board.tally.failedForGood == 1)
  }

  @Test func cancellationEndsTheWait() async throws {
    let (transport, board, clock) = (FakeTransport(), ProgressBoard(isWatched: false), ManualClock())
    let request = DownloadRequest(id: 0, address: try Address("http://a/f"))
    transport.answer(request.address, .failure(reset))
    let run = Task { [self] in
      await downloader(transport, board, clock).download(request, from: HostQueueShare(queue(clock), 0))
    }
    try await clock.waitForSleepers(1)
    run.cancel()
    #expect(await run.value == .failure(DownloadError.cancelled.at(request.address)))
    #expect(board.tally.cancelled == 1)
    #expect(board.tally.failed == 0)
  }
}
