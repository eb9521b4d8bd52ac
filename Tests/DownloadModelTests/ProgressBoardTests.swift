import DownloadModel
import Testing

@Suite("The board counts every file once, and no byte twice (http.md 13)")
struct ProgressBoardTests {
  private func request(_ id: Int) throws -> DownloadRequest {
    DownloadRequest(id: id, address: try Address("http://a/\(id)"))
  }

  @Test func everyEndIsCounted() throws {
    let board = ProgressBoard(isWatched: true)
    let ends: [Result<DownloadOutcome, DownloadError>] = [
      .success(DownloadOutcome(kind: .fetched, path: "a", size: 10, transferred: 7, resumed: 3)),
      .success(DownloadOutcome(kind: .unchanged, path: "b", size: 5)),
      .success(DownloadOutcome(kind: .copied, path: "c", size: 2)),
      .success(DownloadOutcome(kind: .skipped, path: "d", size: 1)),
      .failure(DownloadError(.reset, isPassing: true)), .failure(DownloadError(.status)),
      .failure(.cancelled),
    ]
    for (id, end) in ends.enumerated() {
      _ = board.start(try request(id))
      board.end(try request(id), end)
    }
    board.listed(7, complete: true)
    let sample = board.take()
    #expect(sample.events.count == 7)
    #expect(sample.active.isEmpty)
    let tally = sample.tally
    #expect((tally.fetched, tally.unchanged, tally.copied, tally.skipped) == (1, 1, 1, 1))
    #expect((tally.failed, tally.failedForGood, tally.cancelled, tally.done) == (2, 1, 1, 4))
    #expect((tally.finishedBytes, tally.transferredBytes, tally.resumedBytes) == (18, 7, 3))
    #expect((tally.bodies, tally.bodyBytes) == (1, 7))
    #expect(tally.listIsComplete && tally.listed == 7)
    #expect(board.take().events.isEmpty)
  }

  @Test func aRetryTakesItsBytesBack() throws {
    let board = ProgressBoard(isWatched: false)
    let meter = board.start(try request(1))
    meter.begin(at: 0, total: 100)
    meter.add(60)
    meter.begin(at: 40, total: 100)
    #expect(meter.position == 40)
    meter.add(60)
    #expect(meter.position == 100)
    #expect(meter.start == 40)
    #expect(meter.total == 100)
    #expect(board.counter.value == 120)  // what the network carried
    meter.begin(at: 0, total: nil)
    #expect(meter.total == nil)
  }

  @Test func nobodyWatchesNothingIsKept() throws {
    let board = ProgressBoard(isWatched: false)
    for id in 0..<100 {
      _ = board.start(try request(id))
      board.end(try request(id), .failure(DownloadError(.reset)))
    }
    #expect(board.take().events.isEmpty)
    #expect(board.tally.failed == 100)
  }
}
