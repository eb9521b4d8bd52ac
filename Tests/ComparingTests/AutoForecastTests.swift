import DownloadModel
import Testing

@testable import Comparing

@Suite("What mode auto would have done with a list that was compared")
struct AutoForecastTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let network: SimulatedRun
    var width = 16
    let forecast: AutoForecast?
  }

  @Test(arguments: [
    Row(
      testDescription: "answers that take long: many before the first has ended",
      network: SimulatedRun(files: 64, size: 10_000), forecast: .manyAtOnce(perFile: .microseconds(42_500))),
    Row(
      testDescription: "near, and more bring more",
      network: SimulatedRun(files: 640, size: 4_000, latency: .milliseconds(1)),
      forecast: .moreAndMore(gain: 16)),
    Row(
      testDescription: "one line for all",
      network: SimulatedRun(files: 64, size: 40_000, latency: .zero, line: 4e6), forecast: .fewForNoGain),
    Row(
      testDescription: "one worker",
      network: SimulatedRun(files: 64, size: 4_000, latency: .milliseconds(2), workers: 1),
      forecast: .fewForNoGain),
    Row(
      testDescription: "over in a moment",
      network: SimulatedRun(files: 30, size: 4_000, latency: .milliseconds(1)), forecast: .fewForShort),
    Row(testDescription: "one file", network: SimulatedRun(files: 1), forecast: nil),
  ])
  func table(row: Row) {
    let runs = (1...3).flatMap { round in
      [
        row.network.measured(.sequential, width: 1, round: round),
        row.network.measured(.parallel, width: row.width, round: round),
      ]
    }
    #expect(AutoForecast.of(ComparisonReport(measurements: runs)) == row.forecast)
  }

  @Test("where auto was compared itself, nothing is to be foretold")
  func compared() {
    let network = SimulatedRun()
    let runs = [
      network.measured(.sequential, width: 1), network.measured(.parallel, width: 16),
      network.measured(ComparedMode(.auto), width: 16),
    ]
    #expect(AutoForecast.of(ComparisonReport(measurements: runs)) == nil)
    #expect(AutoForecast.of(ComparisonReport(measurements: [runs[1]])) == nil, "nothing to judge by")
  }
}
