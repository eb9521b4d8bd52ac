import DownloadModel
import Synchronization
import SystemPackage
import TestSupport
import Testing

@testable import CurlTransport
@testable import DownloadCaching
@testable import DownloadScheduling

/// The rooms as `Wiring` joins them, with a task a request that the test can cancel. It once cost what had come of a
/// file without ranges: the next request began it anew.
@Suite("Of two equal requests one is cancelled", .timeLimit(.minutes(hangMinutes)))
struct EqualRequestsTests {
  private static let body = SplitMix64.bytes(count: 3 << 20, seed: 112)

  /// One network loop with all that works on it.
  private struct Loop {
    let transport: CurlTransport
    let cache: DownloadCache
    let downloader: Downloader
    let ends = Ends()

    init(_ folder: FilePath, _ feed: ProgressFeed) throws {
      var options = TransportOptions(userAgent: "dlm-tests")
      options.width = 4
      transport = try CurlTransport(options)
      cache = DownloadCache(
        configuration: CacheConfiguration(directory: folder, cacheFolder: nil),
        executor: transport.serialExecutor)
      let ends = ends
      downloader = Downloader(
        on: transport.serialExecutor, store: cache, transport: transport, feed: feed, retry: RetryPolicy(),
        clock: ContinuousClock(), random: { 0.5 }, segments: 4,
        news: Downloader.News(onEnd: { ends.add($0, $1) }))
    }

    /// A task of its own, because the test cancels one and not the other.
    func download(_ request: DownloadRequest, from share: LoopQueue) -> Task<Void, Never> {
      Task(executorPreference: transport.taskExecutor) { await downloader.download(request, from: share) }
    }
  }

  private final class Ends: Sendable {
    private let ends = Lock<[Int: Downloader.Result]>([:])
    func add(_ request: DownloadRequest, _ result: Downloader.Result) {
      ends.withLock { $0[request.id] = result }
    }
    subscript(id: Int) -> Downloader.Result? { ends.withLock { $0[id] } }
  }

  /// - Parameter ranges: a server that knows ranges lets the file be filled by several transfers.
  @Test(arguments: [FileOptions.RangeConduct.ignored, .honoured])
  func theOtherGoesOnWithTheSameTransfer(ranges: FileOptions.RangeConduct) async throws {
    let (origin, gate) = (try FaultyOrigin(), try Gate())
    defer { origin.stop() }
    var options = FileOptions(ending: .stall(after: 100_000, until: gate))
    options.ranges = ranges
    origin.route("/f", .file(Self.body, options))
    let (folder, feed) = (try TemporaryFolder(), ProgressFeed())
    let loop = try Loop(FilePath(folder.path), feed)
    let address = try origin.address("/f")
    var again = DownloadRequest(id: 1, address: address)
    again.isRepeat = true
    let list = RequestList([DownloadRequest(id: 0, address: address), again])
    let queue = RequestQueue(
      list, ceiling: 4, retry: RetryPolicy(), clock: ContinuousClock(), random: { 0.5 })
    try await queue.run { shares in
      let first = loop.download(try #require(await shares[0].next()), from: shares[0])
      while feed.counter.value < 100_000 { try await Task.sleep(for: .milliseconds(2)) }
      let second = loop.download(try #require(await shares[0].next()), from: shares[0])
      let key = DownloadRequest.Key(address: address)
      while await loop.cache.waiting(for: key) == 0 { try await Task.sleep(for: .milliseconds(2)) }
      first.cancel()
      await first.value
      gate.open()
      await second.value
    }
    #expect(loop.ends[0] == .failure(DownloadError.cancelled.at(address)))
    let outcome = try #require(try loop.ends[1]?.get())
    #expect(outcome.kind == .fetched && outcome.size == Int64(Self.body.count))
    // What is on its way to the further segments of the cancelled task is asked for again; of the first, nothing.
    if ranges == .ignored { #expect(outcome.transferred == Int64(Self.body.count), "not a byte came twice") }
    #expect(try folder.read("f") == Self.body)
    #expect(origin.log.count { $0.headers["range"] == nil } == 1)
    _ = await loop.cache.close()
    await loop.transport.shutdown()
    #expect(try folder.names() == ["f"])
  }
}

extension DownloadCache {
  fileprivate func waiting(for key: DownloadRequest.Key) -> Int { resources.inFlight.count(for: key) }
}
