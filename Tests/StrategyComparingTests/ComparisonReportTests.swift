import DownloadModel
import StrategyComparing
import Testing

@Suite("What a comparison found")
struct ComparisonReportTests {
  struct Row: Sendable {
    var sequential: [Int] = []
    var asyncLet: [Int] = []
    var parallel: [Int] = []
    let winner: DownloadMode
    let reference: DownloadMode
    let factor: Double
    let certainty: Conclusion.Certainty
  }

  @Test(arguments: [
    Row(
      sequential: [1000, 1000, 1000], asyncLet: [250, 250, 250], parallel: [200, 200, 200],
      winner: .parallel, reference: .sequential, factor: 5, certainty: .clear),
    Row(
      asyncLet: [300, 300, 300], parallel: [200, 200, 200], winner: .parallel, reference: .asyncLet,
      factor: 1.5, certainty: .clear),
    // Sequential won: it is compared with the next fastest, not with itself.
    Row(
      sequential: [100, 100, 100], asyncLet: [200, 200, 200], parallel: [150, 150, 150],
      winner: .sequential, reference: .parallel, factor: 1.5, certainty: .clear),
    Row(
      sequential: [90, 105, 120], parallel: [80, 100, 120], winner: .parallel, reference: .sequential,
      factor: 1.05, certainty: .withinScatter),
    // By its median parallel is faster, by its mean slower: one odd run, and no winner.
    Row(
      sequential: [110, 110, 110], parallel: [100, 100, 400], winner: .parallel, reference: .sequential,
      factor: 0.55, certainty: .withinScatter),
    // Nobody would call this faster, however sure it is.
    Row(
      sequential: [1040, 1040, 1040], parallel: [1000, 1000, 1000], winner: .parallel, reference: .sequential,
      factor: 1.04, certainty: .tie),
    Row(
      sequential: [100], parallel: [100], winner: .sequential, reference: .parallel, factor: 1,
      certainty: .tie),
    Row(
      sequential: [500], parallel: [100], winner: .parallel, reference: .sequential, factor: 5,
      certainty: .unknown),
  ])
  func namesTheWinner(row: Row) throws {
    let report = ComparisonReport(
      measurements: measured(.parallel, milliseconds: row.parallel)
        + measured(.sequential, milliseconds: row.sequential)
        + measured(.asyncLet, milliseconds: row.asyncLet))
    let conclusion = try #require(report.conclusion)
    #expect(conclusion.winner == row.winner)
    #expect(conclusion.reference == row.reference)
    #expect(abs(conclusion.speed.factor - row.factor) < 1e-9)
    #expect(conclusion.certainty == row.certainty)
    #expect(report.speed(of: row.winner, against: row.reference) == conclusion.speed)
  }

  @Test(arguments: [[], [100], [0]])
  func oneModeHasNobodyToBeat(milliseconds: [Int]) {
    let report = ComparisonReport(measurements: measured(.parallel, milliseconds: milliseconds))
    #expect(report.conclusion == nil)
    #expect(report.speed(of: .parallel, against: .sequential) == nil)
  }

  @Test func groupsInterleavedRunsByModeInTheOrderOfTheRounds() {
    let sequential = measured(.sequential, milliseconds: [30, 31, 32])
    let parallel = measured(.parallel, milliseconds: [10, 11, 12])
    let mixed = zip(parallel, sequential).flatMap { [$0, $1] }.reversed()
    let report = ComparisonReport(measurements: Array(mixed))
    #expect(report.results.map(\.mode) == [.sequential, .parallel])
    #expect(report.results.map(\.runs) == [sequential, parallel])
  }

  // A mode that a cache helped moves fewer bytes and looks fast.
  @Test func tellsWhenRunsMovedDifferentNumbersOfBytes() {
    let sequential = measured(.sequential, milliseconds: [30, 31], bytes: 1000)
    let equal = sequential + measured(.parallel, milliseconds: [10], bytes: 1000)
    #expect(ComparisonReport(measurements: equal).unequalBytes == nil)
    // A split file's connections read some bytes for nothing, each time others.
    let split = sequential + measured(.parallel, milliseconds: [10], bytes: 1009)
    #expect(ComparisonReport(measurements: split).unequalBytes == nil)
    let helped = sequential + measured(.parallel, milliseconds: [10], bytes: 200)
    #expect(ComparisonReport(measurements: helped).unequalBytes == 200...1000)
  }
}
