import DownloadModel
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
    #expect(watch.limit == UInt64(timeout.milliseconds) * 1_000_000)
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

@Suite("How long a request waits for the first answer of its connection")
struct AnswerWaitTests {
  @Test func countsWhatItIsTold() {
    var wait = AnswerWait()
    #expect(wait.before == nil && !wait.isTrial && wait.socket == nil && wait.time == 0)
    let wasTrial = wait.didOpen(5)
    #expect(!wasTrial && wait.socket == 5)
    wait.time += 3
    wait.time += 4
    #expect(wait.time == 7)
  }

  /// Nothing is learnt from a new connection, and that once.
  @Test func aTrialEndsWithANewConnection() {
    var wait = AnswerWait(after: .milliseconds(2))
    #expect(wait.before == 2_000_000 && wait.isTrial)
    let wasTrial = wait.didOpen(5)
    #expect(wasTrial && !wait.isTrial && wait.before == 2_000_000)
    let isTrialStill = wait.didOpen(6)
    #expect(!isTrialStill && wait.socket == 6)
  }
}
