import DownloadModel
import Testing

@testable import Comparing

@Suite("What a comparison found")
struct ComparisonReportTests {
  struct Row: Sendable {
    var sequential: [Int] = []
    var asyncLet: [Int] = []
    var parallel: [Int] = []
    let winner: ComparedMode
    let reference: ComparedMode
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
    // By its median parallel is hardly faster, and one run was odd: no winner.
    Row(
      sequential: [110, 110, 110], parallel: [100, 100, 400], winner: .parallel, reference: .sequential,
      factor: 1.1, certainty: .withinScatter),
    // One slow run of async-let among four once made it "a tie: async-let and sequential".
    Row(
      sequential: [3200, 3210, 3190, 3205], asyncLet: [400, 400, 400, 13_000], parallel: [405, 402, 404, 403],
      winner: .parallel, reference: .sequential, factor: 3202.5 / 403.5, certainty: .clear),
    // An odd run hides no winner where the others are well before.
    Row(
      sequential: [1000, 1000, 1000], parallel: [100, 4000, 100], winner: .parallel, reference: .sequential,
      factor: 10, certainty: .clear),
    Row(
      sequential: [1000, 9000, 1000], parallel: [100, 100, 100], winner: .parallel, reference: .sequential,
      factor: 10, certainty: .clear),
    // Two of three are no odd runs.
    Row(
      sequential: [1000, 1000, 1000], parallel: [100, 900, 4000], winner: .parallel, reference: .sequential,
      factor: 1000.0 / 900, certainty: .withinScatter),
    // A network that gets faster: in each round the one was as many times as fast.
    Row(
      sequential: [1000, 700, 400], parallel: [500, 350, 200], winner: .parallel, reference: .sequential,
      factor: 2, certainty: .clear),
    Row(
      sequential: [30, 30, 30], parallel: [19, 19, 19], winner: .parallel, reference: .sequential,
      factor: 30.0 / 19, certainty: .tooShort),
    // Too small a difference to be called faster, however sure it is.
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

  /// "14.5 ± 0.0" beside "14.4 ± 0.1" looked like a winner.
  @Test(arguments: [
    ([100, 101, 102], [100, 101, 103], [ComparedMode.parallel]),
    ([100, 100, 100], [104, 104, 104], [.parallel]),
    ([100, 100, 100], [106, 106, 106], []),
    ([100, 101, 102], [103, 130, 110], [.parallel]),
    // All of the one are well before all of the other, however far those lie apart.
    ([128, 138, 108], [1890, 7620, 4370], []),
    ([100, 101, 102], [108, 160, 260], []),
    ([100, 101, 102], [200, 201, 202], []),
    ([100], [104], [.parallel]),
    ([100], [120], []),
  ])
  func whoIsAsFastAsTheWinner(asyncLet: [Int], parallel: [Int], equals: [ComparedMode]) throws {
    let runs =
      measured(.sequential, milliseconds: [1000, 1001, 1002]) + measured(.asyncLet, milliseconds: asyncLet)
      + measured(.parallel, milliseconds: parallel)
    let conclusion = try #require(ComparisonReport(measurements: runs).conclusion)
    #expect(conclusion.winner == .asyncLet && conclusion.reference == .sequential)
    #expect(conclusion.equals == equals)
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

@Suite("The runs of one mode")
struct ModeResultTests {
  struct Row: Sendable {
    let milliseconds: [Int]
    let warnings: [ModeResult.Warning]
    var unevenIn: Int?
  }

  @Test(arguments: [
    Row(milliseconds: [100, 101, 102], warnings: []),
    Row(milliseconds: [100, 102], warnings: [.fewRuns(2)]),
    Row(milliseconds: [100], warnings: [.fewRuns(1)]),
    Row(milliseconds: [90, 100, 110], warnings: []),
    Row(milliseconds: [88, 100, 112], warnings: [], unevenIn: 3),
    Row(milliseconds: [19, 19, 19], warnings: [.tooShort(.milliseconds(19))]),
    // Of times that are too short nothing more is said.
    Row(milliseconds: [4, 4, 40], warnings: [.tooShort(.milliseconds(4))]),
    Row(milliseconds: [20, 20, 20], warnings: []),
    Row(milliseconds: [100, 101, 200, 102, 100], warnings: [], unevenIn: 3),
    Row(milliseconds: [100, 100, 100, 92], warnings: []),
    Row(milliseconds: [100, 110, 120, 130, 140], warnings: [], unevenIn: 5),
    Row(milliseconds: [200, 100, 100], warnings: [], unevenIn: 1),
    Row(milliseconds: [100, 100, 20], warnings: [], unevenIn: 3),
  ])
  func warnsOfWhatMakesTheNumbersDoubtful(row: Row) throws {
    let result = try #require(
      ModeResult(mode: .parallel, runs: measured(.parallel, milliseconds: row.milliseconds)))
    let uneven = row.unevenIn.map { [ModeResult.Warning.uneven(result.times, round: $0)] } ?? []
    #expect(result.warnings == row.warnings + uneven)
  }

  @Test func rateIsBytesByTheMedianTime() throws {
    let runs = measured(.parallel, milliseconds: [400, 500, 900], bytes: 2_000_000)
    let rate = try #require(ModeResult(mode: .parallel, runs: runs)?.bytesPerSecond)
    #expect(abs(rate - 4_000_000) < 1)
  }

  @Test func noTimeGivesNoRate() {
    #expect(ModeResult(mode: .parallel, runs: measured(.parallel, milliseconds: [0]))?.bytesPerSecond == nil)
  }

  @Test func nothingComesOfNoRun() {
    #expect(ModeResult(mode: .parallel, runs: []) == nil)
  }
}

/// Runs of a mode with these times, rounds from 1.
func measured(
  _ mode: ComparedMode, milliseconds: [Int], bytes: Int64 = 1000
) -> [RunMeasurement] {
  milliseconds.enumerated().map { index, time in
    RunMeasurement(
      mode: mode, round: index + 1, wall: .milliseconds(time), files: 2, bytes: bytes)
  }
}
