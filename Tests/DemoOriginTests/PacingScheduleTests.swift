import Testing

@testable import DemoOrigin

@Suite("When the bytes of a body are due")
struct PacingScheduleTests {
  @Test(arguments: [
    (4_000_000, 4_000_000, Duration.seconds(1)),
    (4_000_000, 40_000, .milliseconds(10)),
    (4_000_000, 0, .zero),
    (1, 3600, .seconds(3600)),
    (0, 5, .seconds(5)),
  ])
  func bytesAreDueAtTheRate(rate: Int, count: Int, due: Duration) {
    #expect(PacingSchedule(bytesPerSecond: rate).due(after: count) == due)
  }

  @Test func withoutALimitNothingWaits() {
    #expect(PacingSchedule(bytesPerSecond: nil).due(after: 1 << 30) == nil)
  }

  @Test(
    arguments: [(nil, 65_536), (4_000_000, 40_000), (1_000_000_000, 65_536), (50, 1), (-3, 1)]
      as [(Int?, Int)])
  func chunksAreAHundredthOfASecond(rate: Int?, size: Int) {
    #expect(PacingSchedule(bytesPerSecond: rate).chunkSize == size)
  }
}
