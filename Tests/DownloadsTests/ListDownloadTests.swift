import DownloadModel
import DownloadScheduling
import Synchronization
import TestSupport
import Testing

@testable import Downloads

@Suite("A list is downloaded by a strategy, and each of its files has one outcome", .timeLimit(.minutes(hangMinutes)))
struct ListDownloadTests {
  static let schedules: [Downloads.Schedule] = [
    .sequential, .asyncLet(width: 4), .taskGroup(width: 4), .taskGroup(), .own(Backwards(), width: 4),
  ]

  @Test(arguments: schedules, [1, 2])
  func eachFileHasOneOutcome(schedule: Downloads.Schedule, loops: Int) async throws {
    let place = try Place()
    let addresses = place.serve(20)
    try await withDownloads(place.configuration { $0.loops = loops }) { downloads in
      let events = try await downloads.download(addresses, strategy: schedule).all()
      let files = events.filter { $0.file != nil }
      #expect(files.map(\.index).sorted() == Array(0..<20))
      for event in files { #expect(event.file?.size == Int64(1000 + event.index)) }
      for index in 0..<20 {
        let own = events.filter { $0.index == index }
        #expect(own.first?.hasBegun == true && own.last?.file != nil && own.count { $0.hasBegun } == 1)
      }
    }
    for number in 0..<20 { #expect(try place.folder.read("files/f\(number)") == Place.body(number)) }
    if let width = schedule.width { #expect(place.origin.record.greatestInFlight <= width) }
  }

  /// A file that fails, and an address that is none, keep no other from its end.
  @Test func failuresAmongGoodOnes() async throws {
    let place = try Place()
    let good = place.serve(3)
    let items: [DownloadItem] = [
      DownloadItem(good[0]), DownloadItem(place.origin.url("/nothing")), "no address", DownloadItem(good[1]),
      DownloadItem(good[2], name: "third"),
    ]
    try await withDownloads(place.configuration()) { downloads in
      let events = try await downloads.download(items).all()
      let codes = events.compactMap { event in event.error.map { (event.index, $0.code) } }
      #expect(codes.count == 2)
      #expect(codes.contains { $0 == (1, .status) } && codes.contains { $0 == (2, .badAddress) })
      #expect(Set(events.compactMap(\.file?.name)) == ["f0", "f1", "third"])
    }
  }

  @Test func progressIsTold() async throws {
    let place = try Place()
    let (gate, body) = (try Gate(), SplitMix64.bytes(count: 300_000, seed: 1))
    place.origin.route("/f", .file(body, FileOptions(ending: .stall(after: 100_000, until: gate))))
    try await withDownloads(place.configuration()) { downloads in
      var positions: [Int64] = []
      let list = downloads.download([place.origin.url("/f")], progressInterval: .milliseconds(5))
      for try await event in list {
        if let progress = event.progress {
          positions.append(progress.bytes)
          #expect(progress.total == 300_000)
          if progress.bytes == 100_000 { gate.open() }
        }
      }
      #expect(positions == positions.sorted() && Set(positions).count == positions.count)
      #expect(gate.isOpen)
    }
    #expect(try place.folder.read("files/f") == body)
  }

  /// Nobody looks at files under way, and outcomes come all the same.
  @Test func outcomesAlone() async throws {
    let place = try Place()
    let addresses = place.serve(5)
    try await withDownloads(place.configuration()) { downloads in
      let events = try await downloads.download(addresses, progressInterval: nil).all()
      #expect(events.count { $0.file != nil } == 5 && events.allSatisfy { $0.progress == nil })
    }
  }

  @Test func retriesAreTold() async throws {
    let place = try Place()
    place.origin.route("/f", .status(500), .file(Place.body(1)))
    try await withDownloads(place.configuration()) { downloads in
      let events = try await downloads.download([place.origin.url("/f")]).all()
      let retries = events.count {
        if case .retrying(0, _, let next, _) = $0 { next.attempt == 2 } else { false }
      }
      #expect(retries == 1 && events.last?.file?.size == 1001)
      #expect(events.first?.hasBegun == true && events.count { $0.hasBegun } == 1)
    }
  }

  // MARK: Cancellation

  @Test func aCancelledReaderStillHasTheOutcomesOfWhatHadBegun() async throws {
    let place = try Place()
    for number in 0..<9 { place.origin.route("/f\(number)", .silence()) }
    let addresses = (0..<9).map { place.origin.url("/f\($0)") }
    let downloads = try await Downloads(place.configuration())
    let seen = Lock<[DownloadEvent]>([])
    let reader = Task {
      let list = downloads.download(addresses, strategy: .taskGroup(width: 3))
      for try await event in list { seen.withLock { $0.append(event) } }
    }
    try await place.origin.wait(forRequests: 3)
    reader.cancel()
    let error = await #expect(throws: DownloadError.self) { try await reader.value }
    #expect(error?.code == .cancelled)
    #expect(seen.withLock { $0.compactMap(\.error?.code) } == [.cancelled, .cancelled, .cancelled])
    #expect(place.origin.log.count == 3)
    await downloads.close()
  }

  @Test func leavingTheLoopEndsTheDownloads() async throws {
    let place = try Place()
    let good = place.serve(1)
    place.origin.route("/slow", .silence())
    let addresses = good + [place.origin.url("/slow")]
    let downloads = try await Downloads(place.configuration())
    for try await event in downloads.download(addresses, strategy: .taskGroup(width: 2)) {
      if event.file != nil { break }
    }
    try await place.origin.wait(for: "no request under way") { $0.inFlight == 0 }
    await downloads.close()
  }

  /// What a scope's session began does not outlive the scope.
  @Test func theEndOfTheScopeClosesTheSession() async throws {
    let place = try Place()
    place.origin.route("/f", .silence())
    let address = place.origin.url("/f")
    struct Left: Error {}
    let reading = Lock<Task<Void, any Error>?>(nil)
    let kept = Lock<Downloads?>(nil)
    await #expect(throws: Left.self) {
      try await withDownloads(place.configuration()) { downloads in
        kept.withLock { $0 = downloads }
        reading.withLock {
          $0 = Task { for try await _ in downloads.download([address]) {} }
        }
        try await place.origin.wait(forRequests: 1)
        throw Left()
      }
    }
    try await place.origin.wait(for: "closed connections") { $0.connectionsOpen == 0 }
    let reader = try #require(reading.withLock { $0 })
    let error = await #expect(throws: DownloadError.self) { try await reader.value }
    #expect(error?.code == .closed)
    let closed = try #require(kept.withLock { $0 })
    let late = await #expect(throws: DownloadError.self) { try await closed.download([address]).all() }
    #expect(late?.code == .closed)
  }

  private struct OneByOne: Sequence, Sendable {
    let items: [DownloadItem]
    func makeIterator() -> [DownloadItem].Iterator { items.makeIterator() }
  }

  /// Items of a collection are known ahead; those of another sequence are drawn as they are needed.
  @Test(arguments: [true, false])
  func anUrgentItemGoesFirst(isCollection: Bool) async throws {
    let place = try Place()
    var items = place.serve(30).map { DownloadItem($0) }
    items[20].isFirst = true
    let given = items
    try await withDownloads(place.configuration()) { downloads in
      let list =
        isCollection
        ? downloads.download(given, strategy: .sequential)
        : downloads.download(OneByOne(items: given), strategy: .sequential)
      let order = try await list.all().filter { $0.file != nil }.map(\.index)
      #expect(order.first == (isCollection ? 20 : 0) && order.sorted() == Array(0..<30))
    }
  }

  // MARK: A strategy of one's own

  /// Downloads the list from its end.
  struct Backwards: DownloadStrategy {
    func run(_ source: some RequestSource, width: Int, download: @escaping Download) async {
      var requests: [DownloadRequest] = []
      while requests.count < width, let request = await source.next() { requests.append(request) }
      for request in requests.reversed() { await download(request) }
      if !requests.isEmpty { await run(source, width: width, download: download) }
    }
  }

  @Test func aStrategyOfOnesOwnDecidesTheOrder() async throws {
    let place = try Place()
    let addresses = place.serve(6)
    try await withDownloads(place.configuration()) { downloads in
      let events = try await downloads.download(addresses, strategy: .own(Backwards(), width: 3)).all()
      #expect(events.filter { $0.file != nil }.map(\.index) == [2, 1, 0, 5, 4, 3])
    }
  }

  /// Begins all that it can draw.
  private struct Greedy: DownloadStrategy {
    func run(_ source: some RequestSource, width: Int, download: @escaping Download) async {
      await withTaskGroup { group in
        while let request = await source.next() { group.addTask { await download(request) } }
      }
    }
  }

  @Test func aGreedyStrategyDownloadsAllTheSame() async throws {
    let place = try Place()
    let addresses = place.serve(30)
    try await withDownloads(place.configuration { $0.perHost = 3 }) { downloads in
      let events = try await downloads.download(addresses, strategy: .own(Greedy(), width: 3)).all()
      #expect(events.count { $0.file != nil } == 30)
    }
    #expect(place.origin.record.greatestInFlight <= 3)
  }

  /// Gives up with a request in its hands.
  private struct Careless: DownloadStrategy {
    func run(_ source: some RequestSource, width: Int, download: @escaping Download) async {
      if let request = await source.next() { await download(request) }
      _ = await source.next()
    }
  }

  @Test func whatAStrategyLeavesIsSkipped() async throws {
    let place = try Place()
    let addresses = place.serve(6)
    try await withDownloads(place.configuration()) { downloads in
      let events = try await downloads.download(addresses, strategy: .own(Careless(), width: 1)).all()
      #expect(events.filter { $0.file != nil }.map(\.index) == [0])
      #expect(events.first { $0.error?.code == .skipped }?.index == 1)
    }
  }

  // MARK: Backpressure

  /// A list that counts how far it was drawn.
  private struct Counted: Sequence, Sendable {
    final class Count: Sendable { let drawn = Atomic(0) }
    let count: Count
    func makeIterator() -> some IteratorProtocol<String> {
      (0..<5000).lazy.map { number in
        count.drawn.wrappingAdd(1, ordering: .relaxed)
        return "no address \(number)"
      }.makeIterator()
    }
  }

  @Test func aSlowReaderHoldsTheListBackAndLosesNothing() async throws {
    let (place, count) = (try Place(), Counted.Count())
    try await withDownloads(place.configuration()) { downloads in
      let iterator = downloads.download(Counted(count: count)).makeAsyncIterator()
      var events = iterator
      var failures = 0
      while count.drawn.load(ordering: .relaxed) < 1024 { try await Task.sleep(for: .milliseconds(1)) }
      while let event = try await events.next() {
        failures += event.error?.code == .badAddress ? 1 : 0
        let ahead = count.drawn.load(ordering: .relaxed) - failures
        #expect(ahead <= 1024 + 1, "no more is drawn than may wait")
      }
      #expect(failures == 5000)
    }
  }
}
