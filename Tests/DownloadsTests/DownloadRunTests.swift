import DownloadModel
import DownloadScheduling
import FileReceiving
import Synchronization
import TestSupport
import Testing

@testable import Downloads

@Suite("One run over network loops, and what can be changed of it while it goes on", .timeLimit(.minutes(hangMinutes)))
struct DownloadRunTests {
  /// A run over an origin's files, and how they ended.
  private final class Bench: Sendable {
    let place: Place
    let loops: NetworkLoops
    let feed = ProgressFeed()
    let run: DownloadRun
    private let ends = Lock<[Int: Downloader.Result]>([:])

    init(loops count: Int = 1, widths: [Int]) async throws {
      place = try Place()
      let configuration = place.configuration()
      loops = try await NetworkLoops(
        count, transport: configuration.transport(), cache: configuration.cache(names: NameNumbers()))
      var plan = RunPlan(
        TaskGroupStrategy(), RunConcurrency(.parallel, jobs: 1, segments: 1, loops: 1), ceiling: 16,
        retry: RetryPolicy())
      plan.widths = widths
      run = DownloadRun(plan, over: loops, feed: feed)
    }

    func requests(_ addresses: [String]) throws -> [DownloadRequest] {
      try addresses.enumerated().map { DownloadRequest(id: $0.offset, address: try Address($0.element)) }
    }

    /// Downloads, and closes the loops.
    func download(
      _ requests: [DownloadRequest], isWanted: (@Sendable (DownloadRequest) -> Bool)? = nil
    ) async -> RunWidth {
      let news = Downloader.News(
        onEnd: { request, result in self.ends.withLock { $0[request.id] = result } }, isWanted: isWanted)
      let width = await run.run(RequestList(requests), news: news)
      _ = await loops.close()
      return width
    }

    subscript(id: Int) -> Downloader.Result? { ends.withLock { $0[id] } }
    var count: Int { ends.withLock { $0.count } }

    func code(_ id: Int) -> DownloadError.Code? {
      if case .failure(let error) = self[id] { error.code } else { nil }
    }

    /// Waits until as many files have ended.
    func wait(forEnded count: Int) async throws {
      while self.count < count { try await Task.sleep(for: .milliseconds(2)) }
    }
  }

  /// As many loops are used as there are, and as there are widths.
  static let widths: [(loops: Int, widths: [Int], most: Int)] = [
    (1, [1], 1), (1, [3], 3), (2, [2, 1], 3), (1, [2, 2], 2), (2, [2], 2),
  ]

  @Test(arguments: widths)
  func filesAtATime(loops: Int, widths: [Int], most: Int) async throws {
    let bench = try await Bench(loops: loops, widths: widths)
    let gate = try Gate()
    let addresses = (0..<12).map { number in
      bench.place.origin.route("/f\(number)", .late(Place.body(number), until: gate))
      return bench.place.origin.url("/f\(number)")
    }
    let requests = try bench.requests(addresses)
    async let width = bench.download(requests)
    try await bench.place.origin.wait(forRequests: most)
    gate.open()
    #expect(await width.peak == most)
    #expect(bench.count == 12 && bench.place.origin.record.greatestInFlight == most)
  }

  @Test func theNumberIsChangedWhileItRuns() async throws {
    let bench = try await Bench(widths: [1])
    let gate = try Gate()
    for number in 0..<6 { bench.place.origin.route("/f\(number)", .late(Place.body(number), until: gate)) }
    let requests = try bench.requests((0..<6).map { bench.place.origin.url("/f\($0)") })
    #expect(bench.run.widen(by: 1) == nil, "it has not begun")
    async let width = bench.download(requests)
    try await bench.place.origin.wait(forRequests: 1)
    #expect(bench.run.widen(by: 1) == 2)
    try await bench.place.origin.wait(forRequests: 2)
    #expect(bench.run.widen(by: -1) == 1 && bench.run.widen(by: -1) == 1)
    gate.open()
    #expect(await width.peak == 2)
    #expect(bench.count == 6)
    #expect(bench.run.widen(by: 1) == nil, "it has ended")
  }

  /// Said before the run begins, it holds all the same.
  @Test func nothingBeginsInAPause() async throws {
    let bench = try await Bench(widths: [4])
    let requests = try bench.requests(bench.place.serve(3))
    bench.run.pause(true)
    async let width = bench.download(requests)
    try await Task.sleep(for: .milliseconds(200))
    #expect(bench.place.origin.log.isEmpty && bench.count == 0)
    bench.run.pause(false)
    _ = await width
    #expect(bench.count == 3)
  }

  @Test func oneFileIsGivenUp() async throws {
    let bench = try await Bench(loops: 2, widths: [2, 2])
    bench.place.origin.route("/slow", .silence())
    let requests = try bench.requests([bench.place.origin.url("/slow")] + bench.place.serve(3))
    let reader = bench.feed.reader(of: .files)
    async let width = bench.download(requests)
    try await bench.place.origin.wait(forRequests: 4)
    // A busy machine may have the silent file requeued, and then it is not under way for a moment.
    var meter: TransferMeter?
    while meter == nil {
      meter = reader.take().active.first { $0.id == 0 }?.meter
      await Task.yield()
    }
    #expect(meter != nil)
    await bench.run.giveUp([0], as: .skipped)
    _ = await width
    guard case .failure(let error) = bench[0] else { return #expect(Bool(false)) }
    #expect(error.code == .skipped)
    for id in 1...3 { #expect(try bench[id]?.get().kind == .fetched) }
  }

  /// Equal requests share one transfer: whichever is given up, it goes on with the others, also twice.
  @Test(arguments: [3, 4 << 20])
  func equalRequestsGoOn(size: Int) async throws {
    let bench = try await Bench(widths: [4])
    let gate = try Gate()
    let body = SplitMix64.bytes(count: size, seed: 3)
    bench.place.origin.route("/f", .file(body, FileOptions(ending: .stall(after: 1, until: gate))))
    var requests = try bench.requests(Array(repeating: bench.place.origin.url("/f"), count: 4))
    for id in 1..<4 { requests[id].isRepeat = true }
    let reader = bench.feed.reader(of: .files)
    let sent = requests
    async let width = bench.download(sent)
    try await bench.place.origin.wait(path: "/f", bodyBytesSent: 1)
    while reader.take().active.count < 4 { try await Task.sleep(for: .milliseconds(2)) }
    // The first has the transfer, the others wait for it: one of those, and then those that have it.
    for (count, id) in [3, 0, 1].enumerated() {
      await bench.run.giveUp([id], as: id == 0 ? .cancelled : .skipped)
      try await bench.wait(forEnded: count + 1)
      #expect(bench.code(id) == (id == 0 ? .cancelled : .skipped))
    }
    gate.open()
    _ = await width
    #expect(try bench[2]?.get().kind == .fetched)
    #expect(bench.place.origin.log.count == 1)
  }

  /// The pause before the second attempt is a minute.
  @Test func aFileThatWaitsForItsRetryEndsAtOnce() async throws {
    let bench = try await Bench(widths: [2])
    bench.place.origin.route("/f", .status(500, headers: ["Retry-After: 60"]))
    let requests = try bench.requests([bench.place.origin.url("/f")])
    let reader = bench.feed.reader(of: .events)
    async let width = bench.download(requests)
    var waits = false
    while !waits {
      waits = reader.take().events.contains { if case .retry = $0 { true } else { false } }
      try await Task.sleep(for: .milliseconds(2))
    }
    await bench.run.giveUp([0], as: .skipped)
    _ = await width
    #expect(bench.code(0) == .skipped && bench.place.origin.log.count == 1)
  }

  /// Its line was removed between the queue and its lane.
  @Test func aRequestThatIsWantedNoMoreIsNotSent() async throws {
    let bench = try await Bench(loops: 2, widths: [1, 1])
    let requests = try bench.requests(bench.place.serve(4))
    _ = await bench.download(requests) { $0.id != 2 }
    #expect(bench.count == 4 && bench.code(2) == .cancelled)
    #expect(bench.place.origin.log.map(\.path).sorted() == ["/f0", "/f1", "/f3"])
  }
}
