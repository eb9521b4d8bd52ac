import DownloadModel
import Testing

@testable import DownloadScheduling

@Suite("How many parts of a file are fetched at a time, and which")
struct SegmentPaceTests {
  private static let mib: Int64 = 1 << 20

  /// Runs a file through the pace, ten milliseconds at a time.
  /// - Parameter rate: bytes a second that so many transfers bring.
  /// - Returns: each number that was wanted, and the seconds that the file took.
  private func run(
    _ size: Int64, ceiling: Int = 32, delay: Double = 0.1, rate: (Int) -> Double
  ) -> (counts: [Int], seconds: Double) {
    var pace = SegmentPace(ceiling: ceiling)
    var remaining = Double(size)
    var counts = [1]
    var (time, grown, flowing) = (0.0, 0.0, 1)
    while remaining > 0, time < 1000 {
      time += 0.01
      if time - grown >= delay { flowing = pace.wanted }
      remaining -= rate(flowing) * 0.01
      let hasGrown = pace.look(
        at: .seconds(time), remaining: Int64(max(0, remaining)), active: pace.wanted,
        allFlow: flowing == pace.wanted)
      if hasGrown {
        counts.append(pace.wanted)
        grown = time
      }
    }
    return (counts, time)
  }

  @Test func aServerThatLimitsEachConnectionIsGivenMany() {
    let (counts, seconds) = run(64 * Self.mib) { Double($0) * 4e6 }
    #expect(counts == [1, 8, 32])
    #expect(seconds < 1.0)
  }

  @Test func aNarrowLinkIsLeftAlone() {
    #expect(run(64 * Self.mib) { _ in 4e6 }.counts == [1, 8])
  }

  @Test func whatIsOverSoonIsLeftAlone() {
    #expect(run(500 * Self.mib) { _ in 1.2e9 }.counts == [1])
    #expect(run(Self.mib) { Double($0) * 4e6 }.counts == [1])
    #expect(run(Self.mib * 3 / 2) { Double($0) * 4e6 }.counts == [1, 4])
    #expect(run(4 * Self.mib) { Double($0) * 4e6 }.counts == [1, 8])
  }

  /// From another continent a new connection takes longer than what it could save.
  @Test func distanceCounts() {
    var pace = SegmentPace(ceiling: 32, delay: .milliseconds(600))
    for step in 1...4 {
      _ = pace.look(
        at: .milliseconds(step * 50), remaining: 8_000_000 - Int64(step) * 200_000, active: 1, allFlow: true)
    }
    #expect(pace.wanted == 1, "two seconds are left, and a connection takes more than half of one")
  }

  /// Four files of half a gigabyte from the same machine took three times as long in parts.
  @Test func aConnectionThatBringsPlentyIsLeftAlone() {
    #expect(run(5000 * Self.mib) { _ in 2e8 }.counts == [1])
    #expect(run(5000 * Self.mib) { Double($0) * 1e8 }.counts == [1, 8, 32])
  }

  @Test func neverMoreThanAllowed() {
    #expect(run(640 * Self.mib, ceiling: 6) { Double($0) * 4e6 }.counts == [1, 6])
    #expect(run(640 * Self.mib, ceiling: 1) { Double($0) * 4e6 }.counts == [1])
  }

  /// As soon as more bring no more, there is an end to it.
  @Test func aLinkThatIsFull() {
    #expect(run(640 * Self.mib) { min(Double($0), 9) * 4e6 }.counts == [1, 8, 32])
  }

  @Test func aHostWithoutRoomIsNotAskedAgain() {
    var pace = SegmentPace(ceiling: 32)
    var remaining = 640 * Self.mib
    for step in 1...40 {
      remaining -= 400_000
      _ = pace.look(at: .milliseconds(step * 50), remaining: remaining, active: 1, allFlow: true)
    }
    #expect(pace.wanted == 8, "wanted once, had one")
  }

  @Test func refusalsStop() {
    var pace = SegmentPace(ceiling: 32)
    for step in 0...2 {
      _ = pace.look(
        at: .milliseconds(step * 100), remaining: (640 - Int64(step)) * Self.mib, active: 1, allFlow: true)
    }
    #expect(pace.wanted == 8)
    pace.stop(at: 2)
    let hasGrown = pace.look(at: .seconds(10), remaining: 100 * Self.mib, active: 2, allFlow: true)
    #expect(pace.wanted == 2 && !hasGrown)
  }

  private struct Case {
    var spans: [OpenSpan]
    var rates: [Int: Double] = [:]
    var expected: SegmentChoice?
  }

  @Test func choices() {
    func span(_ id: Int, _ position: Int64, _ end: Int64, _ isTaken: Bool = true) -> OpenSpan {
      OpenSpan(id: id, position: position * Self.mib, end: end * Self.mib, isTaken: isTaken)
    }
    let cases = [
      // What nobody fetches goes first.
      Case(
        spans: [span(0, 0, 40), span(3, 50, 51, false), span(1, 60, 100)],
        expected: SegmentChoice(span: 3, offset: 50 * Self.mib)),
      // Then half of the longest.
      Case(
        spans: [span(0, 0, 20), span(1, 20, 100)], expected: SegmentChoice(span: 1, offset: 60 * Self.mib)),
      // Long is what takes long.
      Case(
        spans: [span(0, 0, 20), span(1, 20, 100)], rates: [0: 1e5, 1: 1e7],
        expected: SegmentChoice(span: 0, offset: 10 * Self.mib)),
      // Not what is over in a second, nor the last bytes of a slow one.
      Case(spans: [span(0, 0, 4)], rates: [0: 5e6], expected: nil),
      Case(
        spans: [OpenSpan(id: 0, position: 0, end: 500_000, isTaken: true)], rates: [0: 1000], expected: nil),
      Case(spans: [], expected: nil),
    ]
    for row in cases {
      #expect(
        SegmentChoice.next(row.spans, rates: row.rates, typical: 1e6, worthwhile: .seconds(1)) == row.expected
      )
    }
  }
}
