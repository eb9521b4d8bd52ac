import DownloadModel
import StrategyComparing
import Testing

@Suite("Which mode runs when")
struct ComparisonPlanTests {
  struct Row: Sendable {
    let modes: [DownloadMode]
    let runs: Int
    var warmUps = 0
    /// Rounds as first letters; a warm-up's in capitals.
    let order: String
  }

  @Test(arguments: [
    Row(modes: [.sequential, .asyncLet, .parallel], runs: 1, order: "sap"),
    Row(modes: [.sequential, .asyncLet, .parallel], runs: 4, order: "sap aps psa sap"),
    Row(modes: [.parallel, .sequential], runs: 3, order: "ps sp ps"),
    Row(modes: [.sequential, .parallel], runs: 2, warmUps: 1, order: "SP sp ps"),
    Row(modes: [.sequential, .parallel], runs: 1, warmUps: 2, order: "SP PS sp"),
    Row(modes: [.parallel], runs: 2, order: "p p"),
    Row(modes: [.parallel, .sequential, .parallel], runs: 1, order: "ps"),
    Row(modes: [.parallel], runs: 0, warmUps: -1, order: "p"),
    Row(modes: [], runs: 3, order: ""),
  ])
  func interleavesAndRotates(row: Row) {
    let plan = ComparisonPlan(modes: row.modes, runs: row.runs, warmUpRounds: row.warmUps)
    let letters = plan.steps.map { step in
      let letter = step.mode.rawValue.prefix(1)
      return step.isWarmUp ? letter.uppercased() : String(letter)
    }
    #expect(letters.joined() == row.order.filter { $0 != " " })
  }

  @Test func stepsAreNumberedByRound() {
    let plan = ComparisonPlan(modes: [.sequential, .parallel], runs: 2, warmUpRounds: 1)
    #expect(plan.steps.map(\.round) == [1, 1, 1, 1, 2, 2])
    #expect(plan.steps.map(\.isWarmUp) == [true, true, false, false, false, false])
    #expect(Set(plan.steps).count == plan.steps.count)
  }

  @Test(arguments: [1, 2, 3])
  func eachModeIsFirstEquallyOften(cycles: Int) {
    let modes = DownloadMode.allCases
    let plan = ComparisonPlan(modes: modes, runs: cycles * modes.count)
    let first = Dictionary(grouping: plan.steps, by: \.round).compactMap { _, steps in steps.first?.mode }
    for mode in modes { #expect(first.count { $0 == mode } == cycles) }
  }
}
