import TestSupport
import Testing

@testable import DownloadModel

private func request(_ id: Int) throws -> DownloadRequest {
  DownloadRequest(id: id, address: try Address("http://a/\(id)"))
}

@Suite("The feed counts every file once, and no byte twice (HTTP rule 13)")
struct ProgressTallyTests {
  @Test func everyEndIsCounted() throws {
    let feed = ProgressFeed()
    let reader = feed.reader(of: .events)
    let ends: [Result<DownloadOutcome, DownloadError>] = [
      .success(DownloadOutcome(kind: .fetched, path: "a", size: 10, transferred: 7, resumed: 3)),
      .success(DownloadOutcome(kind: .unchanged, path: "b", size: 5)),
      .success(DownloadOutcome(kind: .copied, path: "c", size: 2)),
      .success(DownloadOutcome(kind: .skipped, path: "d", size: 1)),
      .failure(DownloadError(.reset, isTransient: true)), .failure(DownloadError(.status)),
      .failure(.cancelled),
    ]
    for (id, end) in ends.enumerated() {
      _ = feed.start(try request(id))
      feed.end(try request(id), end)
    }
    feed.listed(7, complete: true)
    let sample = reader.take()
    #expect(sample.events.count == 14)
    #expect(sample.active.isEmpty)
    let tally = sample.tally
    #expect((tally.fetched, tally.unchanged, tally.copied, tally.skipped) == (1, 1, 1, 1))
    #expect((tally.failed, tally.failedForGood, tally.cancelled, tally.done) == (2, 1, 1, 4))
    #expect((tally.finishedBytes, tally.transferredBytes, tally.resumedBytes) == (18, 7, 3))
    #expect((tally.bodies, tally.bodyBytes) == (1, 7))
    #expect(tally.listIsComplete && tally.listed == 7)
    #expect(reader.take().events.isEmpty)
  }

  /// Each event once copied all waiting ones, and a run of 10,000 files took twice the processor's time in a terminal: so
  /// many events would take minutes.
  @Test(.timeLimit(.minutes(hangMinutes))) func anEventDoesNotTouchThoseBefore() throws {
    let feed = ProgressFeed()
    let readers = (0..<3).map { _ in feed.reader(of: .events) }
    let (request, count) = (try request(0), 100_000)
    for _ in 0..<count { feed.end(request, .failure(.cancelled)) }
    #expect(readers.allSatisfy { $0.take().events.count == count && $0.take().events.isEmpty })
  }

  /// What is asked about is there, and neither done nor under way.
  @Test func whatAQuestionDecidesIsToldOnceItIsDecided() throws {
    let feed = ProgressFeed()
    let reader = feed.reader(of: .events)
    feed.leaveOpen { $0.renamedFrom != nil }
    func renamed(_ name: String) -> DownloadOutcome {
      var outcome = DownloadOutcome(kind: .fetched, path: "\(name).1", size: 10, transferred: 10)
      outcome.renamedFrom = name
      return outcome
    }
    for (id, name) in ["a", "b", "c", "d"].enumerated() {
      _ = feed.start(try request(id))
      feed.end(try request(id), .success(renamed(name)))
    }
    _ = feed.start(try request(4))
    feed.end(try request(4), .success(DownloadOutcome(kind: .fetched, path: "e", size: 5, transferred: 5)))
    var sample = reader.take()
    #expect(sample.active.isEmpty && sample.events.count == 6)  // five began, one ended
    #expect((sample.tally.done, sample.tally.undecided, sample.tally.ended) == (1, 4, 5))
    #expect((sample.tally.finishedBytes, sample.tally.transferredBytes) == (45, 5))
    var (replaced, skipped) = (renamed("a"), renamed("b"))
    replaced.path = "a"
    (skipped.kind, skipped.path, skipped.renamedFrom) = (.skipped, "b", nil)
    feed.settle(try request(0), .success(replaced))
    feed.settle(try request(1), .success(skipped))
    feed.settle(try request(2), .failure(DownloadError(.disk)))
    feed.settle(try request(2), .success(renamed("c")))  // once
    sample = reader.take()
    #expect(sample.events.count == 3)
    #expect((sample.tally.fetched, sample.tally.skipped, sample.tally.replaced) == (2, 1, 1))
    #expect((sample.tally.failed, sample.tally.undecided, sample.tally.finishedBytes) == (1, 1, 35))
    feed.leaveUndecided()
    sample = reader.take()
    #expect(sample.events.count == 1)
    #expect((sample.tally.done, sample.tally.undecided, sample.tally.finishedBytes) == (3, 1, 25))
  }

  /// A list may have changed since it was counted.
  @Test func theEndOfAListCountsMoreThanACountAhead() {
    let feed = ProgressFeed()
    feed.listed(10, complete: false)
    feed.listed(6000, complete: true)
    feed.add(1)
    feed.listed(512, complete: false)
    #expect(feed.tally.listed == 6001 && feed.tally.listIsComplete)
    feed.listed(5990, complete: true)
    #expect(feed.tally.listed == 5991 && feed.tally.listIsComplete)
  }

  @Test func aRetryTakesItsBytesBack() throws {
    let feed = ProgressFeed()
    let meter = feed.start(try request(1))
    meter.begin(at: 0, total: 100)
    meter.add(60)
    meter.begin(at: 40, total: 100)
    #expect(meter.position == 40)
    meter.add(60)
    #expect(meter.position == 100)
    #expect(meter.start == 40)
    #expect(meter.total == 100)
    #expect(feed.counter.value == 120)  // what the network carried
    meter.begin(at: 0, total: nil)
    #expect(meter.total == nil)
  }
}

@Suite("One stream, several readers: each gets every event once, in order", .timeLimit(.minutes(hangMinutes)))
struct ProgressFeedTests {
  /// An event in a letter and the number of its file.
  private static func word(_ event: ProgressEvent) -> String {
    switch event {
    case .began(let request): "b\(request.id)"
    case .ended(let request, _): "e\(request.address.lastPathSegment)"
    case .retry(let request, _, _): "r\(request.address.lastPathSegment)"
    case .waitsForAnotherProcess(let request, _): "w\(request.address.lastPathSegment)"
    case .restarted: "s"
    case .rejected: "x"
    case .watch: "l"
    }
  }

  private func words(_ reader: ProgressFeed.Reader) -> [String] { reader.take().events.map(Self.word) }

  private func post(_ ids: Range<Int>, to feed: ProgressFeed) throws {
    for id in ids {
      _ = feed.start(try request(id))
      feed.end(try request(id), .failure(DownloadError(.reset)))
    }
  }

  private func posted(_ ids: Range<Int>) -> [String] { ids.flatMap { ["b\($0)", "e\($0)"] } }

  @Test func withoutAReaderNothingIsKept() throws {
    let feed = ProgressFeed()
    let totals = feed.reader(of: .totals)
    try post(0..<100, to: feed)
    _ = feed.start(try request(100))
    let sample = totals.take()
    #expect(sample.events.isEmpty && sample.active.isEmpty)
    #expect(sample.tally.failed == 100)
  }

  @Test func aReaderOfFilesSeesWhatIsUnderWayAndHasNoShareOfTheEvents() throws {
    let feed = ProgressFeed()
    let files = feed.reader(of: .files)
    try post(0..<3, to: feed)
    _ = feed.start(try request(3))
    feed.reject(Rejection(list: "l", line: 1, text: "x", reason: .notUTF8))
    let sample = files.take()
    #expect(sample.active.map(\.id) == [3])
    #expect(sample.events.isEmpty)
    #expect(feed.meters(of: [0, 3]).count == 1)
    feed.requeue(try request(3))
    #expect(files.take().active.isEmpty)
  }

  /// Each reader's own pace: one looks after each event, one after seven, one at the end.
  @Test func eachReaderGetsAllAtItsOwnPace() throws {
    let feed = ProgressFeed()
    let readers = (0..<3).map { _ in feed.reader(of: .events) }
    var seen: [[String]] = [[], [], []]
    for id in 0..<100 {
      try post(id..<(id + 1), to: feed)
      seen[0] += words(readers[0])
      if id % 7 == 0 { seen[1] += words(readers[1]) }
    }
    seen[1] += words(readers[1])
    seen[2] += words(readers[2])
    #expect(seen == [[String]](repeating: posted(0..<100), count: 3))
  }

  @Test func aLateReaderBeginsWithWhatFollows() throws {
    let feed = ProgressFeed()
    let early = feed.reader(of: .events)
    try post(0..<3, to: feed)
    let late = feed.reader(of: .events)
    try post(3..<5, to: feed)
    #expect(words(late) == posted(3..<5))
    #expect(words(early) == posted(0..<5))
  }

  /// Only something that an event holds tells whether the feed still has it.
  private func post(one id: Int, to feed: ProgressFeed) throws -> Weak {
    let wishes = DownloadRequest.Wishes(outputName: "x")
    _ = feed.start(DownloadRequest(id: id, address: try Address("http://a/x"), wishes: wishes))
    return Weak(wishes: wishes)
  }

  private struct Weak { weak var wishes: DownloadRequest.Wishes? }

  /// The memory is that of what readers have not taken, and it goes with them.
  @Test func whatIsTakenOrWithoutAReaderIsNotKept() throws {
    let feed = ProgressFeed()
    let alone = feed.reader(of: .files)
    _ = alone.take()
    #expect(try post(one: 100, to: feed).wishes == nil)
    let quick = feed.reader(of: .events)
    var slow: ProgressFeed.Reader? = feed.reader(of: .events)
    let event = try post(one: 101, to: feed)
    #expect(event.wishes != nil)
    _ = quick.take()
    #expect(slow != nil && event.wishes != nil)
    slow = nil
    #expect(event.wishes == nil)
    try post(0..<3, to: feed)
    #expect(words(quick) == posted(0..<3))
  }

  @Test func whenTheLastReaderLeavesNothingIsKeptAnyMore() throws {
    let feed = ProgressFeed()
    do {
      let reader = feed.reader(of: .events)
      _ = feed.start(try request(0))
      #expect(reader.take().active.count == 1)
    }
    try post(1..<5, to: feed)
    let next = feed.reader(of: .events)
    #expect(next.take().active.isEmpty)
  }

  @Test func anotherProcessIsToldOfOnce() throws {
    let feed = ProgressFeed()
    let reader = feed.reader(of: .events)
    for id in 0..<3 { feed.waits(try request(id), forProcess: nil) }
    #expect(words(reader) == ["w0"])
  }

  /// Collects a reader's events until its task is cancelled, and then what is left.
  private static func collect(_ reader: ProgressFeed.Reader, every interval: Duration) async -> [String] {
    var all: [String] = []
    while !Task.isCancelled {
      try? await Task.sleep(for: interval)  // ends early only for a cancelled task
      all += reader.take().events.map(word)
    }
    return all + reader.take().events.map(word)
  }

  /// Four lanes post while one reader looks a thousand times a second and one every 17 ms.
  @Test func twoReadersAtDifferentPacesAgree() async throws {
    let feed = ProgressFeed()
    let requests = try (0..<8000).map { try request($0) }
    let readers = [1, 17].map { pace in
      let reader = feed.reader(of: .events)
      return Task { await Self.collect(reader, every: .milliseconds(pace)) }
    }
    await withTaskGroup { group in
      for lane in 0..<4 {
        group.addTask {
          for id in stride(from: lane, to: requests.count, by: 4) {
            feed.start(requests[id]).add(10)
            feed.end(requests[id], .failure(DownloadError(.reset)))
            if id % 500 == lane { try? await Task.sleep(for: .milliseconds(2)) }
          }
        }
      }
    }
    for reader in readers { reader.cancel() }
    let (one, other) = (await readers[0].value, await readers[1].value)
    #expect(one == other)
    #expect(one.count == 16_000 && Set(one).count == 16_000)
    for lane in 0..<4 {
      let own = one.filter { Int($0.dropFirst()).map { $0 % 4 } == lane }
      #expect(own == stride(from: lane, to: 8000, by: 4).flatMap { ["b\($0)", "e\($0)"] })
    }
    #expect(feed.counter.value == 80_000)
  }
}
