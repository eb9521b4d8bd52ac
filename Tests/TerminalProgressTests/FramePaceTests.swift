import Testing

@testable import TerminalProgress

@Suite("Drawing has its share of the processor, and no more")
struct FramePaceTests {
  /// What a frame cost in microseconds, the cores that are busy, the pause in milliseconds.
  typealias Row = (cost: Int, busy: Double, pause: Double)

  @Test(arguments: [
    // A core's worth of work: a fiftieth of a core.
    Row(0, 1, 50), Row(400, 1, 50), Row(1000, 1, 50), Row(2000, 1, 100), Row(5000, 1, 250),
    Row(80_000, 1, 250),
    // A run that waits: a fiftieth of what it takes, at ten frames a second or more.
    Row(700, 0.5, 70), Row(700, 0.25, 100), Row(100, 0.01, 100), Row(0, 0, 50), Row(2, 0, 100),
    Row(1500, 0.5, 100),
    // One that takes both cores still leaves one fiftieth of one.
    Row(2000, 2, 100),
  ])
  func pause(row: Row) {
    let pause = FramePace.pause(.milliseconds(50), after: .microseconds(row.cost), busy: row.busy)
    #expect(abs(pause / .milliseconds(row.pause) - 1) < 1e-9)
  }

  @Test func aDisplayThatIsSlowerByItselfStaysSo() {
    #expect(FramePace.pause(.milliseconds(250), after: .milliseconds(1), busy: 1) == .milliseconds(250))
    #expect(FramePace.pause(.seconds(1), after: .milliseconds(80), busy: 0.1) == .seconds(1))
  }

  @Test(
    "a thousand files that wait, at 0.7 ms a frame: drawing takes a fiftieth of the run",
    arguments: [0.4, 0.57, 0.9])
  func ofTheWhole(others: Double) {
    var pace = FramePace(.milliseconds(50), first: .milliseconds(50))
    var (now, drawn) = (Duration.zero, Duration.zero)
    for _ in 0..<1000 {
      now += pace.pause
      let start = drawn
      drawn += .microseconds(700)
      let process = now * others + drawn
      pace.take((start, process), (drawn, process), at: now)
    }
    #expect(abs(pace.busy - (others + drawn / now)) < 0.01)
    #expect(drawn / (now * others + drawn) < 0.0202)
  }

  @Test func aClockThatStandsStillSaysNothing() {
    var pace = FramePace(.milliseconds(50), first: .zero)
    let time: ProcessorTime = (.zero, .seconds(1))
    for _ in 0..<3 { pace.take(time, time, at: .seconds(1)) }
    #expect(pace.busy == 1)
  }
}
