import DownloadModel
import DownloadScheduling
import FileReceiving
import TestSupport
import Testing

@testable import CurlTransport
@testable import Downloads

/// The test owns the time: a look of the loop's own is next to nothing beside one of the test's.
@Suite("A source that is too slow gives way to the file's next mirror", .timeLimit(.minutes(hangMinutes)))
struct SlowSourceTests {
  private static let body = SplitMix64.bytes(count: 600_000, seed: 31)
  /// One window of `--min-rate`, in nanoseconds.
  private static let window: UInt64 = 1_000_000_000_000_000

  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let hasMirror: Bool
    let status: Bool
    /// What the slow source is asked for, and the mirror.
    let asked: [[String]]
  }

  static let rows = [
    Row(
      testDescription: "at once, whatever retries are left, and its bytes are kept", hasMirror: true, status: true,
      asked: [["/f -"], ["/f bytes=400000-"]]),
    Row(testDescription: "without a mirror it fails", hasMirror: false, status: false, asked: [["/f -"], []]),
  ]

  @Test(arguments: rows) func theNextSource(_ row: Row) async throws {
    let place = try Place()
    let (slow, mirror) = (place.origin, try FaultyOrigin())
    defer { mirror.stop() }
    slow.route("/f", .file(Self.body, FileOptions(ending: .stall(after: 400_000))))
    mirror.route("/f", .file(Self.body, FileOptions(etag: "\"other\"")))
    let configuration = place.configuration()
    var transport = try configuration.transport()
    (transport.leastRate, transport.rateWindow) = (10_240, .nanoseconds(Int64(Self.window)))
    (transport.collapseTime, transport.stallTimeout) = (.seconds(1_000_000_000), .seconds(1_000_000_000))
    let loops = try await NetworkLoops(1, transport: transport, cache: configuration.cache(names: NameNumbers()))
    let feed = ProgressFeed()
    var plan = RunPlan(
      TaskGroupStrategy(), RunConcurrency(.parallel, jobs: 1, segments: 1, loops: 1), ceiling: 16,
      retry: RetryPolicy(retries: row.hasMirror ? 5 : 0))
    plan.widths = [1]
    let wishes = DownloadRequest.Wishes(
      checksum: ContentHasher.digest(of: Self.body), mirrors: row.hasMirror ? [try Address(mirror.url("/f"))] : [])
    let request = DownloadRequest(id: 0, address: try Address(slow.url("/f")), wishes: wishes)
    let run = DownloadRun(plan, over: loops, feed: feed)
    let reader = feed.reader(of: .files)
    let results = Monitor<[Downloader.Result]>([])
    let news = Downloader.News(onEnd: { _, result in results.withState { $0.append(result) } })
    async let width = run.run(RequestList([request]), news: news)
    let (agent, watch) = (loops.all[0].transport.agent, StallWatch(transport.stallTimeout))
    try await slow.wait(forRequests: 1)
    while reader.take().active.first?.meter.position != 400_000 { await Task.yield() }
    // The first look begins the window.
    for _ in 0..<2 { _ = await agent.endStalled(watch, after: Self.window) }
    _ = await width
    _ = await loops.close()
    let asked = [slow, mirror].map { $0.log.map { "\($0.path) \($0.headers["range"] ?? "-")" } }
    #expect(asked == row.asked)
    let result = try #require(results.withState { $0.last })
    if row.status {
      #expect(try result.get().size == Int64(Self.body.count))
      #expect(try place.folder.read("files/f") == Self.body)
    } else {
      #expect(throws: DownloadError.self) { try result.get() }
    }
  }
}
