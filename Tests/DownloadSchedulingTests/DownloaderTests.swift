import DownloadModel
import Synchronization
import TestSupport
import Testing

@testable import DownloadScheduling

@Suite(
  "One download: tried again as the policy says, told to the feed, cancelled while it waits",
  .timeLimit(.minutes(hangMinutes)))
struct DownloaderTests {
  private struct Store: DownloadStore {
    /// What is stored since an earlier run, for a file that fails and does not come again.
    var older: DownloadOutcome?
    /// Requests from this one on are answered by what is stored.
    var stored = Int.max

    func open(
      _ request: DownloadRequest, meter: TransferMeter
    ) async throws(DownloadError) -> OpenedDownload<Target> {
      if request.id < stored { return .missing(Target(request.address)) }
      return .answered(DownloadOutcome(kind: .fresh, path: "f", size: 1, transferred: 0))
    }

    func commit(_ download: Target) async throws(DownloadError) -> DownloadOutcome? {
      let bytes = download.bytes
      return DownloadOutcome(kind: .fetched, path: "f", size: bytes, transferred: bytes)
    }

    func close(
      _ download: Target, after error: DownloadError, comesAgain: Bool
    ) async -> DownloadOutcome? { comesAgain ? nil : older }
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
    await downloader.download(request, from: LoopQueue(queue: queue, index: 0))
    return ends.last
  }

  private let reset = DownloadError(.reset, isTransient: true)

  private func downloader(
    _ transport: FakeTransport, _ feed: ProgressFeed, _ clock: ManualClock, retries: Int = 5,
    maxTime: Duration? = nil, older: DownloadOutcome? = nil, stored: Int = .max
  ) -> Downloader {
    Downloader(
      on: BlockingExecutor(label: "test.loop"), store: Store(older: older, stored: stored), transport: transport,
      feed: feed, retry: RetryPolicy(retries: retries, maxTime: maxTime), clock: clock, random: { 0.5 },
      news: ends.news)
  }

  private func queue(_ clock: ManualClock, _ requests: DownloadRequest...) -> RequestQueue {
    RequestQueue(RequestList(requests), ceiling: 2, retry: RetryPolicy(), clock: clock, random: { 0.5 })
  }

  /// Downloads all that the queue gives, one by one, and says how the last of them ended.
  private func last(_ downloader: Downloader, _ queue: RequestQueue) async -> Downloader.Result? {
    await queue.run { shares in
      while let request = await shares[0].next() { await downloader.download(request, from: shares[0]) }
    }
    return ends.last
  }

  @Test func aPassingFailureIsTriedAgainAfterItsDelay() async throws {
    let (transport, feed, clock) = (FakeTransport(), ProgressFeed(), ManualClock())
    let reader = feed.reader(of: .events)
    let request = DownloadRequest(id: 0, address: try Address("http://a/f"))
    transport.answer(request.address, .failure(reset), .failure(reset), .ok([1, 2, 3]))
    let run = Task { [self] in await last(downloader(transport, feed, clock), queue(clock, request)) }
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

  /// One lane: while a file waits for its next attempt the others go, and it keeps its row and its attempts.
  @Test func othersGoMeanwhile() async throws {
    let (transport, feed, clock) = (FakeTransport(), ProgressFeed(), ManualClock())
    let reader = feed.reader(of: .events)
    let list = try (0..<3).map { DownloadRequest(id: $0, address: try Address("http://a/\($0)")) }
    transport.answer(list[0].address, .failure(reset))
    for other in list[1...] { transport.answer(other.address, .ok([1])) }
    let queue = queue(clock, list[0], list[1], list[2])
    let run = Task { [self] in await last(downloader(transport, feed, clock, retries: 2), queue) }
    try await clock.waitForSleepers(1)
    #expect(transport.attempts.map(\.address) == list.map(\.address.key))
    let sample = reader.take()
    #expect(sample.tally.fetched == 2 && sample.active.map(\.id) == [0])
    clock.advance(by: .milliseconds(825))
    try await clock.waitForSleepers(1)
    let again = reader.take()
    #expect(again.active.first?.meter === sample.active.first?.meter)
    #expect(again.events.count == 1, "it begins once, and is told to be tried again twice")
    clock.advance(by: .milliseconds(1650))
    #expect(await run.value == .failure(reset.at(list[0].address)))
    #expect(transport.attempts.count == 5)
  }

  private struct Waiting: DownloadStore {
    let error: DownloadError
    func open(
      _ request: DownloadRequest, meter: TransferMeter
    ) async throws(DownloadError) -> OpenedDownload<Target> { throw error }
    func commit(_ download: Target) async throws(DownloadError) -> DownloadOutcome? { nil }
    func close(
      _ download: Target, after error: DownloadError, comesAgain: Bool
    ) async -> DownloadOutcome? { nil }
  }

  /// Found by trial: who waited for another's download told its 429 as its own, and the host was asked for
  /// half as much, and left alone for longer, with each of them. Here the host would want quiet: nobody
  /// advances the clock.
  @Test(.timeLimit(.minutes(hangMinutes))) func aRefusalOfAnotherIsNoRefusal() async throws {
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

  private let unanswered = DownloadError(.unanswered, isTransient: true, isRequeued: true)

  /// Found by reading: a request that a loop gave back ended with the file of an earlier run, as if its server had
  /// failed (stale-if-error), and was not asked again.
  @Test func whatIsGivenBackHasNotFailed() async throws {
    let (transport, feed, clock) = (FakeTransport(), ProgressFeed(), ManualClock())
    let request = DownloadRequest(id: 0, address: try Address("http://a/f"))
    transport.answer(request.address, .failure(unanswered), .ok([1, 2, 3]))
    let older = DownloadOutcome(kind: .unchanged, path: "old", size: 1, transferred: 0)
    let result = await last(downloader(transport, feed, clock, older: older), queue(clock, request))
    #expect(result == .success(DownloadOutcome(kind: .fetched, path: "f", size: 3, transferred: 3)))
    #expect(transport.attempts.count == 2)
  }

  /// Found by reading: after each file that was here already, the failures of its host were counted anew, so that a
  /// host without connections was not given up before each of the others had been tried.
  @Test func whatIsStoredSaysNothingOfItsHost() async throws {
    let (transport, feed, clock) = (FakeTransport(), ProgressFeed(), ManualClock())
    let list = try (0..<3).map { DownloadRequest(id: $0, address: try Address("http://a/\($0)")) }
    let down = DownloadError(.connect, isTransient: true)
    transport.answer(list[0].address, .failure(down), .failure(down), .ok([1]))
    let queue = queue(clock, list[0], list[1], list[2])
    let run = Task { [self] in await last(downloader(transport, feed, clock, stored: 1), queue) }
    try await clock.waitForSleepers(1)
    clock.advance(by: .milliseconds(825))
    try await clock.waitForSleepers(1)
    #expect(transport.attempts.count == 2 && feed.tally.done == 2)
    clock.advance(by: .milliseconds(1650))
    #expect(try await run.value?.get().kind == .fetched)
    #expect(clock.requestedSleeps == [.milliseconds(825), .milliseconds(1650)], "its second failure in a row")
  }

  /// Found by reading: the time of a file that was given back began anew.
  @Test func timeGoesOnWhereAFileIsGivenBack() async throws {
    let (transport, feed, clock) = (FakeTransport(), ProgressFeed(), ManualClock())
    let request = DownloadRequest(id: 0, address: try Address("http://a/f"))
    transport.answer(request.address) { [unanswered, reset] _, attempt in
      clock.advance(by: .seconds(4))
      return .failure(attempt == 1 ? unanswered : reset)
    }
    let result = await last(downloader(transport, feed, clock, maxTime: .seconds(6)), queue(clock, request))
    #expect(result == .failure(reset.at(request.address)))
    #expect(transport.attempts.count == 2 && clock.requestedSleeps.isEmpty)
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
    let run = Task { [self] in await last(downloader(transport, feed, clock, retries: 1), queue(clock, request)) }
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

  /// One file is given up, and the run goes on.
  @Test func whatWaitsIsTakenOut() async throws {
    let (transport, feed, clock) = (FakeTransport(), ProgressFeed(), ManualClock())
    let request = DownloadRequest(id: 0, address: try Address("http://a/f"))
    transport.answer(request.address, .failure(reset))
    let queue = queue(clock, request)
    let run = Task { [self] in await last(downloader(transport, feed, clock), queue) }
    try await clock.waitForSleepers(1)
    #expect(queue.withdraw([1]).isEmpty)
    #expect(queue.withdraw([0]).map(\.id) == [0])
    #expect(await run.value == nil)
    #expect(queue.unfinished.isEmpty)
  }

  @Test func cancellationEndsTheWait() async throws {
    let (transport, feed, clock) = (FakeTransport(), ProgressFeed(), ManualClock())
    let request = DownloadRequest(id: 0, address: try Address("http://a/f"))
    transport.answer(request.address, .failure(reset))
    let queue = queue(clock, request)
    let run = Task { [self] in await last(downloader(transport, feed, clock), queue) }
    try await clock.waitForSleepers(1)
    run.cancel()
    #expect(await run.value == nil)
    #expect(queue.unfinished.map(\.request.id) == [0])
    #expect(transport.attempts.count == 1)
  }
}
