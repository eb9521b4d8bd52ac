import TestSupport
import Testing

@testable import DemoOrigin

@Suite("What the server reads and writes")
struct DemoServerTests {
  private func read(_ text: String) -> DemoRequest? { DemoRequest(head: Array(text.utf8)) }

  @Test func heads() throws {
    let request = try #require(
      read(
        "POST /a?b HTTP/1.1\r\nHost: h\r\nrange:bytes=0-1\r\nIf-Range:\t\"x\"\r\nContent-Length: 7\r\n"
          + "If-None-Match: *\r\nIf-Modified-Since: d\r\nConnection: te, Close"))
    #expect(
      request
        == DemoRequest(
          method: "POST", path: "/a",
          fields: [
            "host": "h", "range": "bytes=0-1", "if-range": "\"x\"", "content-length": "7", "if-none-match": "*",
            "if-modified-since": "d", "connection": "te, Close",
          ]))
    #expect(request.wantsClose)
    for text in ["", "GET /", "GET / FTP/1.0", "GET / HTTP/1.1\r\nno colon"] { #expect(read(text) == nil) }
  }

  @Test func headsOfAnswers() {
    let answer = DemoAnswer(to: DemoRequest(path: "/none"), files: [:], now: 0)
    #expect(
      String(decoding: answer.head, as: UTF8.self)
        == "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n\r\n")
  }

  /// One of three is answered at a time; one that leaves gives its turn away, and its worker free.
  @Test(.timeLimit(.minutes(hangMinutes))) func workers() async throws {
    let file = DemoFile(path: "/a", size: 10, seed: 1)
    let origin = DemoOrigin(
      files: [file], latency: .milliseconds(40), bytesPerSecondPerConnection: nil, workers: 1)
    try await origin.serving { addresses in
      let leaves = try CurlCommand.start(["--max-time", "0.02"] + addresses)
      let start = ContinuousClock.now
      try await withThrowingTaskGroup(of: [UInt8].self) { group in
        for _ in 0..<3 { group.addTask { try await CurlCommand.response(addresses).body } }
        for try await body in group { #expect(body == file.bytes(in: 0..<10)) }
      }
      #expect(ContinuousClock.now - start >= .milliseconds(120))
      _ = try await leaves.waitForExit()
    }
  }
}

@Suite("When the bytes of a body are due")
struct PacingScheduleTests {
  @Test(
    "a lost packet costs its body a round trip, the same ones each time",
    arguments: [
      (1448, 0.5, 0), (2 * 1448, 0.5, 1), (100 * 1448, 0.01, 1), (1000 * 1448, 0.01, 10), (1000 * 1448, 0, 0),
    ])
  func loss(count: Int, loss: Double, roundTrips: Int) {
    let schedule = DemoServer.PacingSchedule(bytesPerSecond: 1448, loss: loss, roundTrip: .milliseconds(40))
    #expect(schedule.due(after: count) == .seconds(count / 1448) + .milliseconds(40 * roundTrips))
    let unpaced = DemoServer.PacingSchedule(bytesPerSecond: nil, loss: loss, roundTrip: .milliseconds(40))
    #expect(unpaced.due(after: count) == (roundTrips > 0 ? .milliseconds(40 * roundTrips) : nil))
  }

  @Test(arguments: [
    (4_000_000, 4_000_000, Duration.seconds(1)),
    (4_000_000, 40_000, .milliseconds(10)),
    (4_000_000, 0, .zero),
    (1, 3600, .seconds(3600)),
  ])
  func bytesAreDueAtTheRate(rate: Int, count: Int, due: Duration) {
    #expect(DemoServer.PacingSchedule(bytesPerSecond: rate).due(after: count) == due)
  }

  @Test func withoutALimitNothingWaits() {
    #expect(DemoServer.PacingSchedule(bytesPerSecond: nil).due(after: 1 << 30) == nil)
  }

  @Test(
    arguments: [(nil, 65_536), (4_000_000, 40_000), (1_000_000_000, 65_536), (50, 1)]
      as [(Int?, Int)])
  func chunksAreAHundredthOfASecond(rate: Int?, size: Int) {
    #expect(DemoServer.PacingSchedule(bytesPerSecond: rate).chunkSize == size)
  }
}
