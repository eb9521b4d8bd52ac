import DownloadModel
import StrategyComparing
import Testing

@Suite("The runs of one mode")
struct ModeResultTests {
  struct Row: Sendable {
    let milliseconds: [Int]
    let warnings: [MeasurementWarning]
  }

  @Test(arguments: [
    Row(milliseconds: [100, 101, 102], warnings: []),
    Row(milliseconds: [100, 102], warnings: [.fewRuns(2)]),
    Row(milliseconds: [100], warnings: [.fewRuns(1)]),
    Row(milliseconds: [90, 100, 110], warnings: []),
    Row(milliseconds: [88, 100, 112], warnings: [.wideSpread(0.12)]),
    Row(milliseconds: [4, 4, 4], warnings: [.tooShort(.milliseconds(4))]),
    Row(milliseconds: [5, 5, 5], warnings: []),
    Row(
      milliseconds: [100, 101, 200, 102, 100], warnings: [.wideSpread(50.0 / 101), .outliers(rounds: [3])]),
    Row(milliseconds: [100, 100, 100, 92], warnings: [.outliers(rounds: [4])]),
    Row(milliseconds: [100, 100, 100, 107], warnings: []),
    Row(milliseconds: [100, 110, 120, 130, 140], warnings: [.wideSpread(20.0 / 120)]),
  ])
  func warnsOfWhatMakesTheNumbersDoubtful(row: Row) throws {
    let result = try #require(
      ModeResult(mode: .parallel, runs: measured(.parallel, milliseconds: row.milliseconds)))
    #expect(result.warnings == row.warnings)
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
