import Testing

@testable import TerminalProgress

@Suite("Rate and time left")
struct RateEstimateTests {
  /// Adds `bytes` at the end of each of `count` spans of `span`.
  private func estimate(bytes: Int64, each span: Duration, count: Int) -> RateEstimate {
    var estimate = RateEstimate(start: .zero)
    for index in 1...count { estimate.add(bytes: bytes, at: span * index) }
    return estimate
  }

  private func isNear(_ value: Double, _ expected: Double, within part: Double = 1e-9) -> Bool {
    abs(value - expected) <= abs(expected) * part
  }

  @Test("a single sample is its own rate")
  func single() {
    var estimate = RateEstimate(start: .seconds(5))
    #expect(estimate.rate(at: .seconds(5)) == 0)
    estimate.add(bytes: 3000, at: .seconds(8))
    #expect(isNear(estimate.rate(at: .seconds(8)), 1000))
  }

  @Test("a steady rate is shown from the first sample on", arguments: [1, 2, 20, 200, 2000])
  func steady(count: Int) {
    let estimate = estimate(bytes: 50, each: .milliseconds(50), count: count)
    #expect(isNear(estimate.rate(at: .milliseconds(50) * count), 1000))
  }

  @Test("the time left is that of the last third, but of 3 to 10 seconds", arguments: [(6, 3), (24, 8), (60, 10)])
  func recent(age: Int, span: Int) {
    var estimate = RateEstimate(start: .zero)
    for half in 1...(2 * age) {
      estimate.add(bytes: half > 2 * (age - span) ? 500 : 5000, at: .milliseconds(500 * half))
    }
    let left = estimate.timeLeft(remaining: 7000, at: .seconds(age))
    #expect(left.map { isNear($0.inSeconds, 7) } == true, "\(String(describing: left))")
  }

  @Test("a pause weighs like any other time; in a stall there is neither a rate nor a guess at the end")
  func stall() {
    let estimate = estimate(bytes: 50_000, each: .milliseconds(50), count: 2000)
    #expect(isNear(estimate.rate(at: .seconds(100)), 1_000_000))
    #expect(isNear(estimate.rate(at: .seconds(101.5)), 500_000))
    #expect(estimate.rate(at: .seconds(103)) == 0)
    #expect(estimate.rate(at: .seconds(200)) == 0)
    #expect(estimate.timeLeft(remaining: 1000, at: .seconds(104)) != nil)
    #expect(estimate.timeLeft(remaining: 1000, at: .seconds(105)) == nil)
  }

  @Test("looking, or hearing that nothing came, changes nothing")
  func nothing() {
    var estimate = estimate(bytes: 100, each: .seconds(1), count: 10)
    let before = estimate.rate(at: .seconds(12))
    estimate.add(bytes: 0, at: .seconds(11))
    estimate.add(bytes: -5, at: .seconds(11))
    #expect(estimate.rate(at: .seconds(12)) == before)
  }

  @Test("bytes that come in no time are counted with the next")
  func noTime() {
    var estimate = RateEstimate(start: .seconds(1))
    estimate.add(bytes: 400, at: .seconds(1))
    #expect(estimate.rate(at: .seconds(1)) == 0)
    estimate.add(bytes: 600, at: .seconds(2))
    #expect(isNear(estimate.rate(at: .seconds(2)), 1000))
  }

  @Test("no guess before two seconds, nor while nothing moves")
  func timeLeft() {
    var estimate = RateEstimate(start: .seconds(10))
    #expect(estimate.timeLeft(remaining: 1000, at: .seconds(20)) == nil)
    estimate.add(bytes: 1990, at: .seconds(11.99))
    #expect(estimate.timeLeft(remaining: 5000, at: .seconds(11.99)) == nil)
    estimate.add(bytes: 10, at: .seconds(12))
    let left = estimate.timeLeft(remaining: 5000, at: .seconds(12))
    #expect(left.map { isNear($0.inSeconds, 5, within: 1e-6) } == true)
    #expect(estimate.timeLeft(remaining: 0, at: .seconds(12)) == .zero)
    #expect(estimate.timeLeft(remaining: 5000, at: .seconds(120)) == nil)
  }
}
