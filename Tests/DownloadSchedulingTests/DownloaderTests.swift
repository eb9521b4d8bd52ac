import DownloadModel
import Synchronization
import TestSupport
import Testing

@testable import DownloadScheduling

@Suite(
  "One download: tried again as the policy says, told to the feed, cancelled while it waits",
  .timeLimit(.minutes(5)))
struct DownloaderTests {
  private struct Store: DownloadStore {
    func open(
      _ request: DownloadRequest, meter: TransferMeter
    ) async throws(DownloadError) -> OpenedDownload<Target> { .missing(Target(request.address)) }

    func commit(_ download: Target) async throws(DownloadError) -> DownloadOutcome? {
      let bytes = download.bytes
      return DownloadOutcome(kind: .fetched, path: "f", size: bytes, transferred: bytes)
    }

    func close(_ download: Target, after error: DownloadError) async -> DownloadOutcome? { nil }
  }

  private final class Target: DownloadTarget {
    private let address: Address
    private let received = Lock<Int64>(0)

    init(_ address: Address) { self.address = address }

    var bytes: Int64 { received.withLock { $0 } }
    func nextTransfer() throws(DownloadError) -> TransferRequest? { TransferRequest(address: address) }
    func finish(_ receipt: TransferReceipt) throws(DownloadError) -> Bool {
      received.withLock { $0 = receipt.bodyBytes }
      return true
    }
    func accept(_ head: ResponseHead) throws(DownloadError) -> BodyDisposition { .write }
    func write(_ bytes: UnsafeRawBufferPointer) throws(DownloadError) -> SinkDemand { .more }
    func takeRunning() -> RunningTransfer? { nil }
    var openSegments: [OpenSegment] { [] }
    func takeSegment(
      of id: Int, from offset: Int64
    ) throws(DownloadError) -> (id: Int, target: any SegmentTarget)? { nil }
    func ask(for size: RequestSize) {}
    func refuseSegments() {}
    func release(_ segment: Int) throws(DownloadError) {}
  }

  /// How downloads ended.
  private final class Ends: Sendable {
    private let results = Lock<[Downloader.Result]>([])
    var news: Downloader.News {
      Downloader.News(onEnd: { _, result in self.results.withLock { $0.append(result) } })
    }
    var last: Downloader.Result? { results.withLock { $0.last } }
  }

  private let ends = Ends()

  /// Downloads, and says how it ended; nil if it is back in the queue.
  private func result(
    _ downloader: Downloader, _ request: DownloadRequest, _ queue: RequestQueue
  ) async -> Downloader.Result? {
    await downloader.download(request, from: RequestQueueShare(queue, 0))
    return ends.last
  }

  private let reset = DownloadError(.reset, isTransient: true)

  private func downloader(
    _ transport: FakeTransport, _ feed: ProgressFeed, _ clock: ManualClock, retries: Int = 5
  ) -> Downloader {
    Downloader(
      on: BlockingExecutor(label: "test.loop"), store: Store(), transport: transport, feed: feed,
      retry: RetryPolicy(retries: retries), clock: clock, random: { 0.5 }, news: ends.news)
  }

  private func queue(_ clock: ManualClock) -> RequestQueue {
    RequestQueue(RequestList([]), ceiling: 2, retry: RetryPolicy(), clock: clock, random: { 0.5 })
  }

  @Test func aPassingFailureIsTriedAgainAfterItsDelay() async throws {
    let (transport, feed, clock) = (FakeTransport(), ProgressFeed(), ManualClock())
    let reader = feed.reader(of: .events)
    let request = DownloadRequest(id: 0, address: try Address("http://a/f"))
    transport.answer(request.address, .failure(reset), .failure(reset), .ok([1, 2, 3]))
    let run = Task { [self] in
      await result(downloader(transport, feed, clock), request, queue(clock))
    }
    try await clock.waitForSleepers(1)
    clock.advance(by: .milliseconds(825))
    try await clock.waitForSleepers(1)
    #expect(transport.attempts.count == 2)
    clock.advance(by: .milliseconds(1650))
    #expect(await run.value == .success(DownloadOutcome(kind: .fetched, path: "f", size: 3, transferred: 3)))
    #expect(clock.requestedSleeps == [.milliseconds(825), .milliseconds(1650)])
    let sample = reader.take()
    #expect(sample.tally.fetched == 1)
    #expect(sample.active.isEmpty)
    #expect(sample.events.count == 4)
  }

  private struct Waiting: DownloadStore {
    let error: DownloadError
    func open(
      _ request: DownloadRequest, meter: TransferMeter
    ) async throws(DownloadError) -> OpenedDownload<Target> { throw error }
    func commit(_ download: Target) async throws(DownloadError) -> DownloadOutcome? { nil }
    func close(_ download: Target, after error: DownloadError) async -> DownloadOutcome? { nil }
  }

  /// Found by trial: who waited for another's download told its 429 as its own, and the host was asked for
  /// half as much, and left alone for longer, with each of them. Here the host would want quiet: nobody
  /// advances the clock.
  @Test(.timeLimit(.minutes(5))) func aRefusalOfAnotherIsNoRefusal() async throws {
    let (feed, clock) = (ProgressFeed(), ManualClock())
    let busy = DownloadError(.status, cause: .http(status: 429), isTransient: true)
    let request = DownloadRequest(id: 0, address: try Address("http://a/f"))
    let queue = RequestQueue(
      RequestList([request]), ceiling: 2, retry: RetryPolicy(retries: 0), clock: clock, random: { 0.5 })
    let downloader = Downloader(
      on: BlockingExecutor(label: "test.loop"), store: Waiting(error: busy.coalesced),
      transport: FakeTransport(), feed: feed, retry: RetryPolicy(), clock: clock, random: { 0.5 },
      news: ends.news)
    try await queue.run { shares in
      for _ in 0..<3 {
        let given = try #require(await shares[0].next())
        await downloader.download(given, from: shares[0])
        #expect(ends.last == nil)
      }
    }
    #expect(feed.tally == ProgressTally())
    #expect(clock.requestedSleeps.isEmpty)
  }

  /// The server had closed a kept connection: the request is made again at once, and not counted, but once
  /// only.
  @Test func whatWasNotAnsweredIsAskedAgainAtOnce() async throws {
    let (transport, feed, clock) = (FakeTransport(), ProgressFeed(), ManualClock())
    let request = DownloadRequest(id: 0, address: try Address("http://a/f"))
    let stale = DownloadError(.reset, isTransient: true, isStaleConnection: true)
    let reader = feed.reader(of: .events)
    transport.answer(request.address, .failure(stale), .ok([1, 2, 3]))
    let result = await self.result(downloader(transport, feed, clock, retries: 0), request, queue(clock))
    #expect(result == .success(DownloadOutcome(kind: .fetched, path: "f", size: 3, transferred: 3)))
    #expect(reader.take().events.count == 2)

    let other = DownloadRequest(id: 1, address: try Address("http://a/g"))
    transport.answer(other.address, .failure(stale), .failure(stale))
    #expect(
      await self.result(downloader(transport, feed, clock, retries: 0), other, queue(clock))
        == .failure(stale.at(other.address)))
    #expect(transport.attempts.count == 4)
    #expect(clock.requestedSleeps.isEmpty)
  }

  @Test func retriesEnd() async throws {
    let (transport, feed, clock) = (FakeTransport(), ProgressFeed(), ManualClock())
    let request = DownloadRequest(id: 0, address: try Address("http://a/f"))
    transport.answer(request.address, .failure(reset))
    let run = Task { [self] in
      await result(downloader(transport, feed, clock, retries: 1), request, queue(clock))
    }
    try await clock.waitForSleepers(1)
    clock.advance(by: .seconds(2))
    #expect(await run.value == .failure(reset.at(request.address)))
    #expect(transport.attempts.count == 2)
    #expect(feed.tally.failed == 1)
    #expect(feed.tally.failedForGood == 0)
  }

  @Test func aPermanentFailureIsNotTriedAgain() async throws {
    let (transport, feed, clock) = (FakeTransport(), ProgressFeed(), ManualClock())
    let request = DownloadRequest(id: 0, address: try Address("http://a/f"))
    let error = DownloadError(.certificate)
    transport.answer(request.address, .failure(error))
    #expect(
      await result(downloader(transport, feed, clock), request, queue(clock))
        == .failure(error.at(request.address)))
    #expect(transport.attempts.count == 1)
    #expect(feed.tally.failedForGood == 1)
  }

  /// One file is given up; its task, which may be a lane's, is not cancelled.
  @Test func skippingEndsTheWait() async throws {
    let (transport, feed, clock) = (FakeTransport(), ProgressFeed(), ManualClock())
    let request = DownloadRequest(id: 0, address: try Address("http://a/f"))
    transport.answer(request.address, .failure(reset))
    let downloader = downloader(transport, feed, clock)
    let run = Task { [self] in await result(downloader, request, queue(clock)) }
    try await clock.waitForSleepers(1)
    #expect(await downloader.skip(1, TransferMeter()) == false)
    #expect(await downloader.skip(0, TransferMeter()))
    #expect(await run.value == .failure(DownloadError.skipped.at(request.address)))
    #expect(feed.tally.cancelled == 1)
    #expect(feed.tally.givenUp == 1)
    #expect(feed.tally.failed == 0)
  }

  @Test func cancellationEndsTheWait() async throws {
    let (transport, feed, clock) = (FakeTransport(), ProgressFeed(), ManualClock())
    let request = DownloadRequest(id: 0, address: try Address("http://a/f"))
    transport.answer(request.address, .failure(reset))
    let run = Task { [self] in
      await result(downloader(transport, feed, clock), request, queue(clock))
    }
    try await clock.waitForSleepers(1)
    run.cancel()
    #expect(await run.value == .failure(DownloadError.cancelled.at(request.address)))
    #expect(feed.tally.cancelled == 1)
    #expect(feed.tally.failed == 0)
  }
}
