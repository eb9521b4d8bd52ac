import DownloadModel
import Testing

@testable import Comparing

@Suite("Which mode runs when")
struct ComparisonPlanTests {
  struct Row: Sendable {
    let modes: [ComparedMode]
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
    Row(modes: [], runs: 3, order: ""),
  ])
  func interleavesAndRotates(row: Row) {
    let plan = ComparisonPlan(modes: row.modes, runs: row.runs, warmUpRounds: row.warmUps)
    let letters = plan.steps.map { step in
      let letter = step.mode.name.prefix(1)
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

  @Test("the order is drawn by a seed, the same for the same one, and anew after each has been first")
  func drawn() {
    let modes = ComparedMode.all(DownloadMode.strategies, widths: [4, 16])
    #expect(modes.count == 5)
    var orders: Set<[ComparedMode]> = []
    for seed in 0..<UInt64(20) {
      let plan = ComparisonPlan(modes: modes, runs: 2 * modes.count, warmUpRounds: 1, seed: seed)
      #expect(plan == ComparisonPlan(modes: modes, runs: 2 * modes.count, warmUpRounds: 1, seed: seed))
      let rounds = Dictionary(grouping: plan.steps.filter { !$0.isWarmUp }, by: \.round)
      for round in rounds.values { #expect(Set(round.map(\.mode)) == Set(modes)) }
      for mode in modes { #expect(rounds.values.count { $0.first?.mode == mode } == 2) }
      orders.insert(rounds[1]?.map(\.mode) ?? [])
      #expect(rounds[1]?.map(\.mode) != rounds[2]?.map(\.mode))
    }
    #expect(orders.count > 10)
  }

  @Test(arguments: [
    ([DownloadMode.sequential, .parallel], [nil], ["sequential", "parallel"]),
    ([.sequential, .parallel], [8], ["sequential", "parallel"]),
    ([.sequential, .parallel], [1, 4, nil], ["sequential", "parallel -j 1", "parallel -j 4", "parallel"]),
    ([.asyncLet, .asyncLet], [2, 2, 3], ["async-let -j 2", "async-let -j 3"]),
  ])
  func modesAndWidths(modes: [DownloadMode], widths: [Int?], names: [String]) {
    #expect(ComparedMode.all(modes, widths: widths).map(\.name) == names)
  }

  @Test func modesAreListedByNameAndWidth() {
    let modes = ComparedMode.all(DownloadMode.strategies, widths: [16, nil, 4])
    #expect(
      modes.sorted().map(\.name) == [
        "sequential", "async-let -j 4", "async-let -j 16", "async-let", "parallel -j 4", "parallel -j 16",
        "parallel",
      ])
  }

  @Test(arguments: [1, 2, 3])
  func eachModeIsFirstEquallyOften(cycles: Int) {
    let modes = DownloadMode.strategies.map { ComparedMode($0) }
    let plan = ComparisonPlan(modes: modes, runs: cycles * modes.count)
    let first = Dictionary(grouping: plan.steps, by: \.round).compactMap { _, steps in steps.first?.mode }
    for mode in modes { #expect(first.count { $0 == mode } == cycles) }
  }
}
