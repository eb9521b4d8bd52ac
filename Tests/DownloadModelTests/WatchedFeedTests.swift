import Testing

@testable import DownloadModel

@Suite("What is counted of lines that come and go")
struct WatchedFeedTests {
  private let feed = ProgressFeed()
  typealias Result = Swift.Result<DownloadOutcome, DownloadError>

  init() { feed.watch { WatchStatus(lists: [], files: 0) } }

  private func request(_ id: Int) throws -> DownloadRequest {
    DownloadRequest(id: id, address: try Address("http://h/\(id)"))
  }

  static func success(_ kind: DownloadOutcome.Kind, _ size: Int64 = 10) -> Result {
    .success(
      DownloadOutcome(
        kind: kind, path: "x", size: size, transferred: kind == .fetched ? size : 0, proof: .length))
  }

  /// Whatever a line came to, nothing of it is counted when it is gone.
  @Test(arguments: [
    success(.fetched), success(.unchanged), success(.fresh), success(.copied), success(.skipped),
    .failure(DownloadError(.status)), .failure(DownloadError(.reset, isTransient: true)),
    .failure(.cancelled),
  ])
  func aRemovedLineCountsForNothing(result: Result) throws {
    feed.relist(1)
    feed.end(try request(0), result, kept: 5)
    #expect(feed.tally != ProgressTally())
    feed.remove(try request(0), .done)
    feed.relist(0)
    var empty = ProgressTally()
    empty.listIsComplete = true
    #expect(feed.tally == empty)
  }

  /// One that was asked about again counts once: as what it is now, or was at first if nothing has changed.
  @Test(arguments: [
    (success(.fetched), success(.unchanged), success(.fetched)),
    (success(.fetched), success(.fetched, 20), success(.fetched, 20)),
    (success(.unchanged), .failure(DownloadError(.status)), .failure(DownloadError(.status))),
    (.failure(DownloadError(.status)), success(.unchanged), success(.unchanged)),
    (success(.fetched), .failure(.cancelled), success(.fetched)),
  ])
  func oneThatIsAskedAboutAgain(first: Result, second: Result, counted: Result) throws {
    feed.end(try request(0), first)
    feed.end(try request(0), second)
    var expected = ProgressTally()
    expected.count(counted)
    #expect(feed.tally == expected)
  }

  @Test func badLinesThatAreMendedCountNoMore() {
    let reader = feed.reader(of: .events)
    feed.reject(Rejection(list: "l", line: 1, text: "x", reason: .tooLong))
    #expect(feed.tally.failed == 1)
    feed.tell(
      .changed(WatchNews.Change(list: "l", started: 0, removed: 0, restarted: 0, mended: 1, files: 0)))
    #expect(feed.tally.failed == 0 && feed.tally.failedForGood == 0)
    #expect(reader.take().events.count == 2 && reader.take().watch != nil)
  }
}
