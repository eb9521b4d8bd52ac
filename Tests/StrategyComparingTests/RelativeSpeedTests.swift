import StrategyComparing
import Testing

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
    // μ 2, σ 1 and μ 8, σ 2: 4 · √(0.5² + 0.25²)
    Row(sample: [1, 2, 3], reference: [6, 8, 10], factor: 4, deviation: 2.236_067_977),
    Row(sample: [2, 2, 2], reference: [6, 8, 10], factor: 4, deviation: 1),
    Row(sample: [2], reference: [6, 8, 10], factor: 4, deviation: nil),
    Row(sample: [1, 2, 3], reference: [8], factor: 4, deviation: nil),
  ])
  func ratioOfTheMeansWithItsDeviation(row: Row) throws {
    let sample = try #require(SampleSummary(row.sample.map { .seconds($0) }))
    let reference = try #require(SampleSummary(row.reference.map { .seconds($0) }))
    let speed = try #require(RelativeSpeed(of: sample, against: reference))
    #expect(abs(speed.factor - row.factor) < 1e-9)
    #expect((speed.deviation == nil) == (row.deviation == nil))
    if let deviation = speed.deviation, let expected = row.deviation {
      #expect(abs(deviation - expected) < 1e-6)
    }
  }

  @Test func noTimeGivesNoFactor() throws {
    let zero = try #require(SampleSummary([.zero]))
    let some = try #require(SampleSummary([.seconds(1)]))
    #expect(RelativeSpeed(of: zero, against: some) == nil)
    #expect(RelativeSpeed(of: some, against: zero) == nil)
  }
}
