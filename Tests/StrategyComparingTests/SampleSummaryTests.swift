import StrategyComparing
import Testing

@Suite("What the times of one mode say")
struct SampleSummaryTests {
  @Test(
    arguments: [
      ([5], 5), ([1, 2], 1.5), ([3, 1, 2], 2), ([4, 1, 3, 2], 2.5), ([9, 1, 1, 1, 1], 1), ([2, 2, 2], 2),
    ] as [([Double], Double)])
  func medianIsTheMiddle(seconds: [Double], median: Double) throws {
    let summary = try #require(SampleSummary(seconds.map { .seconds($0) }))
    #expect(summary.median == .seconds(median))
  }

  @Test func nothingComesOfNoSample() {
    #expect(SampleSummary([]) == nil)
  }

  @Test func tellsEndsMeanAndScatter() throws {
    let summary = try #require(SampleSummary([8, 2, 4, 4].map { .seconds($0) }))
    #expect(summary.count == 4)
    #expect(summary.minimum == .seconds(2))
    #expect(summary.maximum == .seconds(8))
    #expect(summary.mean == .seconds(4.5))
    #expect(summary.medianDeviation == .seconds(1))
    // Squares of the distances from 4.5: 12.25 + 6.25 + 0.25 + 0.25 = 19, divided by 3.
    let deviation = try #require(summary.standardDeviation) / .seconds(1)
    #expect(abs(deviation - 2.516_611_478) < 1e-6)
  }

  @Test func oneRunHasNoDeviation() throws {
    let summary = try #require(SampleSummary([.seconds(3)]))
    #expect(summary.standardDeviation == nil)
    #expect(summary.medianDeviation == .zero)
    #expect(summary.spread == 0)
  }

  @Test(
    arguments: [
      ([10, 10, 10], 0), ([9, 10, 11], 0.1), ([8, 10, 16], 0.4), ([1], 0), ([0, 0], 0), ([0, 0, 6], 0),
    ] as [([Double], Double)])
  func spreadIsHalfTheRangeByTheMedian(seconds: [Double], spread: Double) throws {
    let summary = try #require(SampleSummary(seconds.map { .seconds($0) }))
    #expect(abs(summary.spread - spread) < 1e-12)
  }
}
