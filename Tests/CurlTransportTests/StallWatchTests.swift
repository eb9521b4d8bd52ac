import DownloadModel
import TestSupport
import Testing

@testable import CurlTransport

@Suite("When a transfer has stalled")
struct StallWatchTests {
  @Test(
    arguments: [
      (.seconds(30), 1000), (.seconds(2), 250), (.milliseconds(300), 37), (.milliseconds(1), 10),
    ] as [(Duration, UInt64)])
  func looksOftenEnough(timeout: Duration, milliseconds: UInt64) {
    let watch = StallWatch(timeout)
    #expect(watch.interval / 1_000_000 == milliseconds)
    #expect(watch.limit == timeout.nanoseconds)
  }

  /// A loop that was held up may have bytes waiting: that time counts no more than two looks.
  @Test func timeThatWasLostCountsLittle() {
    let watch = StallWatch(.seconds(8))
    #expect(watch.counted(1_000_000_000) == 1_000_000_000)
    #expect(watch.counted(3_600_000_000_000) == 2_000_000_000)
  }

  /// Bytes at each look, a second apart, and the seconds of quiet that are known then.
  @Test(
    arguments: [
      ([0, 0, 0], [0, 1, 2]),
      ([5, 5, 6, 6, 6], [0, 1, 0, 1, 2]),
      ([1, 2, 3], [0, 0, 0]),
    ] as [([Int64], [UInt64])])
  func quietIsCountedFromTheLastByte(bytes: [Int64], quiet: [UInt64]) {
    var state = StallWatch.Quiet()
    let found = bytes.map { state.look($0, after: 1) }
    #expect(found == quiet)
  }

  @Test(
    arguments: [(.seconds(2), "no bytes for 2 s"), (.milliseconds(1500), "no bytes for 1500 ms")]
      as [(Duration, String)])
  func saysHowLong(timeout: Duration, words: String) {
    let error = StallWatch(timeout).failure
    #expect(error.code == .stalled && error.isTransient)
    #expect(error.cause == .detail(words))
  }
}

@Suite("When a file is too slow (--min-rate)")
struct LeastRateTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Bytes of the file at each look.
    let bytes: [Int64]
    /// Seconds that count of those between two looks.
    var seconds: UInt64 = 10
    let said: [String?]
  }

  /// A thousand bytes a second, over half a minute.
  static let rows: [Row] = [
    Row(testDescription: "fast enough", bytes: [0, 10_000, 20_000, 30_000], said: [nil, nil, nil, nil]),
    Row(
      testDescription: "too slow, once the window is over", bytes: [0, 9000, 18_000, 29_999],
      said: [nil, nil, nil, "999 B/s over 30 s"]),
    Row(testDescription: "no byte", bytes: [7, 7, 7, 7], said: [nil, nil, nil, "0 B/s over 30 s"]),
    Row(
      testDescription: "a burst counts for its own window", bytes: [0, 0, 0, 90_000, 90_000, 90_000, 90_000],
      said: [nil, nil, nil, nil, nil, nil, "0 B/s over 30 s"]),
    Row(
      testDescription: "what an earlier run left is none of it", bytes: [5_000_000, 5_000_000, 5_000_000, 5_000_001],
      said: [nil, nil, nil, "0 B/s over 30 s"]),
    Row(
      testDescription: "it starts over", bytes: [50_000, 60_000, 100, 100, 100, 200],
      said: [nil, nil, nil, nil, nil, "3 B/s over 30 s"]),
    Row(testDescription: "held: no time counts", bytes: [0, 0, 0, 0, 0], seconds: 0, said: [nil, nil, nil, nil, nil]),
  ]

  @Test(arguments: rows) func look(_ row: Row) {
    var pace = Pace()
    let window = TransportOptions(userAgent: "").rateWindow
    let found = row.bytes.map { pace.look($0, after: row.seconds * 1_000_000_000, least: 1000, over: window) }
    #expect(found.map { $0?.reason } == row.said)
    #expect(found.compactMap(\.self).allSatisfy { $0.code == .tooSlow && $0.isTransient })
  }

  /// No server is as fast as that, so this needs no slow one.
  @Test(arguments: [false, true]) func endsTheTransfer(isLimited: Bool) async throws {
    let gate = try Gate()
    try await withTransport({
      ($0.leastRate, $0.rateWindow) = (1 << 50, .milliseconds(1))
      // Of which all is taken at once: the rest is what the limit holds back.
      if isLimited { $0.limits = RateLimits(bytesPerSecond: 1) }
    }) { transport, origin in
      let body = SplitMix64.bytes(count: 50_000, seed: 1)
      origin.route("/f", .file(body, FileOptions(ending: .stall(after: 20_000, until: gate))))
      let address = try origin.address("/f")
      let lane = Task { () -> DownloadError? in
        do throws(DownloadError) {
          _ = try await transport.fetch(address)
          return nil
        } catch { return error }
      }
      if isLimited {
        try await origin.wait(forRequests: 1)
        // Several looks, a second apart; were the held time counted, it would end.
        try await Task.sleep(for: .seconds(3))
        lane.cancel()
        #expect(await lane.value?.code == .cancelled)
      } else {
        let error = await lane.value
        #expect(error?.code == .tooSlow && error?.address == address.key, "\(String(describing: error))")
      }
      gate.open()
    }
  }
}

@Suite("How long a request waits for the first answer of its connection")
struct AnswerWaitTests {
  @Test func countsWhatItIsTold() {
    var wait = AnswerWait()
    #expect(wait.before == nil && wait.trial == nil && wait.socket == nil && wait.time == 0)
    let wasTrial = wait.didOpen(5)
    #expect(!wasTrial && wait.socket == 5)
    wait.time += 3
    wait.time += 4
    #expect(wait.time == 7)
  }

  /// Nothing is learnt from a new connection, and that once.
  @Test func aTrialEndsWithANewConnection() {
    var wait = AnswerWait(after: .milliseconds(2))
    #expect(wait.before == 2_000_000 && wait.trial == 2_000_000)
    let wasTrial = wait.didOpen(5)
    #expect(wasTrial && wait.trial == nil && wait.before == 2_000_000)
    let isTrialStill = wait.didOpen(6)
    #expect(!isTrialStill && wait.socket == 6)
  }
}
