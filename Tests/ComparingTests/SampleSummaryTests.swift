import Testing

@testable import Comparing

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
    // Squares of the distances from 4.5: 12.25 + 6.25 + 0.25 + 0.25 = 19, divided by 3.
    let deviation = try #require(summary.standardDeviation) / .seconds(1)
    #expect(abs(deviation - 2.516_611_478) < 1e-6)
  }

  @Test(
    "an odd run in four, and one of three, is not counted as usual",
    arguments: [
      ([1], 1), ([1, 9], 9), ([1, 9, 2], 2), ([1, 2, 3, 9], 3), ([1, 2, 3, 4, 5, 6, 8, 9], 6),
    ] as [([Double], Double)])
  func usualMaximum(seconds: [Double], usual: Double) throws {
    #expect(try #require(SampleSummary(seconds.map { .seconds($0) })).usualMaximum == .seconds(usual))
  }

  @Test func oneRunHasNoDeviation() throws {
    let summary = try #require(SampleSummary([.seconds(3)]))
    #expect(summary.standardDeviation == nil)
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

@Suite("How many times as fast, and how sure that is")
struct RelativeSpeedTests {
  struct Row: Sendable {
    let sample: [Double]
    let reference: [Double]
    let factor: Double
    let deviation: Double?
  }

  @Test(arguments: [
    Row(sample: [2, 2, 2], reference: [6, 6, 6], factor: 3, deviation: 0),
    Row(sample: [6, 6, 6], reference: [2, 2, 2], factor: 1 / 3.0, deviation: 0),
    // The rounds' ratios are 6, 4 and 10/3: their squares from the mean are 312/81 in all, divided by 2.
    Row(sample: [1, 2, 3], reference: [6, 8, 10], factor: 4, deviation: 1.387_777_333),
    Row(sample: [2, 2, 2], reference: [6, 8, 10], factor: 4, deviation: 1),
    // An odd run moves the scatter and not the factor.
    Row(sample: [2, 2, 8], reference: [8, 8, 8], factor: 4, deviation: 1.732_050_808),
    Row(sample: [2], reference: [6, 8, 10], factor: 4, deviation: nil),
    Row(sample: [1, 2, 3], reference: [8], factor: 4, deviation: nil),
  ])
  func ratioOfTheMediansWithItsDeviation(row: Row) throws {
    let speed = try #require(
      RelativeSpeed(of: try result(.parallel, row.sample), against: try result(.sequential, row.reference)))
    #expect(abs(speed.factor - row.factor) < 1e-9)
    #expect((speed.deviation == nil) == (row.deviation == nil))
    if let deviation = speed.deviation, let expected = row.deviation {
      #expect(abs(deviation - expected) < 1e-6)
    }
  }

  @Test func noTimeGivesNoFactor() throws {
    let (zero, some) = (try result(.parallel, [0]), try result(.sequential, [1]))
    #expect(RelativeSpeed(of: zero, against: some) == nil)
    #expect(RelativeSpeed(of: some, against: zero) == nil)
  }

  private func result(_ mode: ComparedMode, _ seconds: [Double]) throws -> ModeResult {
    try #require(ModeResult(mode: mode, runs: measured(mode, milliseconds: seconds.map { Int($0 * 1000) })))
  }
}
