import DownloadModel
import DownloadScheduling
import FileReceiving
import TestSupport
import Testing

@testable import CurlTransport
@testable import Downloads

/// One name, two addresses: the first brings the beginning of a file, and then nothing more. The test owns the
/// time: a look of the loop's own is next to nothing beside one of the test's.
@Suite("A host whose address has collapsed", .timeLimit(.minutes(hangMinutes)))
struct CollapseTests {
  private static let body = SplitMix64.bytes(count: 600_000, seed: 30)
  /// A fifth of what a collapse takes, in nanoseconds.
  private static let long: UInt64 = 1_000_000_000_000_000

  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var ranges = true
    var addresses = ["127.0.0.1", "127.0.0.2"]
    /// What the first address is asked for, and the second.
    let asked: [[String]]
  }

  static let rows = [
    Row(
      testDescription: "goes on at the next address", asked: [["/f -"], ["/f bytes=400000-", "/g -"]]),
    Row(
      testDescription: "a file without ranges stays, and its connection is not used again", ranges: false,
      asked: [["/f -"], ["/g -"]]),
    Row(
      testDescription: "there is no other address", addresses: ["127.0.0.1"],
      asked: [["/f -", "/g -"], []]),
  ]

  @Test(arguments: rows) func lateFile(_ row: Row) async throws {
    let place = try Place()
    let (first, second) = (place.origin, try FaultyOrigin(at: 2, port: place.origin.port))
    defer { second.stop() }
    let (begins, ends) = (try Gate(), try Gate())
    var options = FileOptions(ending: .stall(after: 400_000, until: ends))
    if !row.ranges { (options.acceptRanges, options.ranges) = (nil, .ignored) }
    first.route("/f", .late(Self.body, until: begins, options))
    second.route("/f", .file(Self.body))
    for origin in [first, second] { origin.route("/g", .file([1, 2, 3])) }
    let asks = Monitor(0)
    let configuration = place.configuration()
    var transport = try configuration.transport()
    (transport.collapseTime, transport.stallTimeout) = (.seconds(5_000_000), .seconds(1_000_000_000))
    transport.lookUp = { host in
      #expect(host == "localhost")
      asks.withState { $0 += 1 }
      return row.addresses
    }
    let loops = try await NetworkLoops(
      1, transport: transport, cache: configuration.cache(names: NameNumbers()))
    let feed = ProgressFeed()
    var plan = RunPlan(
      TaskGroupStrategy(), RunConcurrency(.parallel, jobs: 1, segments: 1, loops: 1), ceiling: 16,
      retry: RetryPolicy(retries: 0))
    plan.widths = [1]
    let requests = try ["f", "g"].enumerated().map {
      DownloadRequest(id: $0.offset, address: try Address("http://localhost:\(first.port)/\($0.element)"))
    }
    let run = DownloadRun(plan, over: loops, feed: feed)
    let reader = feed.reader(of: .files)
    let resumed = Monitor<[Int64?]>([])
    let news = Downloader.News(onEnd: { _, result in resumed.withState { $0.append(try? result.get().resumed) } })
    async let width = run.run(RequestList(requests), news: news)
    let (agent, watch) = (loops.all[0].transport.agent, StallWatch(transport.stallTimeout))
    func look() async { _ = await agent.endStalled(watch, after: Self.long) }
    try await first.wait(forRequests: 1)
    await look()
    begins.open()
    while reader.take().active.first?.meter.position != 400_000 { await Task.yield() }
    for _ in 0..<6 { await look() }
    try await asks.wait(for: "the addresses") { $0 == 1 }
    if row.addresses.count > 1 { while await agent.health.detours.isEmpty { await Task.yield() } }
    ends.open()
    _ = await width
    _ = await loops.close()
    #expect(try place.folder.read("files/f") == Self.body)
    let asked = [first, second].map { $0.log.map { "\($0.path) \($0.headers["range"] ?? "-")" } }
    #expect(asked == row.asked)
    #expect(resumed.withState { $0 } == [0, 0], "all of it came in this run, and counts as such")
  }
}
