import DownloadModel
import Testing

@testable import DownloadScheduling

@Suite("How many parts of a file are fetched at a time, and which")
struct SegmentPlannerTests {
  private static let mib: Int64 = 1 << 20

  /// Runs a file through the pace, ten milliseconds at a time.
  /// - Parameters:
  ///   - burst: bytes at the start that come at a gigabyte a second.
  ///   - step: the interval in seconds at which bytes come, a window at a time; nil for all the time.
  ///   - most: the most transfers that the host takes at a time.
  ///   - rate: bytes a second that so many transfers bring.
  /// - Returns: each number that was wanted, and the seconds that the file took.
  private func run(
    _ size: Int64, ceiling: Int = 32, delay: Double = 0.1, isFar: Bool = false, burst: Int64 = 0, step: Int? = nil,
    most: Int = .max, rate: (Int) -> Double
  ) -> (counts: [Int], seconds: Double) {
    var pace = SegmentPlanner(ceiling: ceiling, delay: isFar ? .seconds(delay) : .zero, size: size)
    var remaining = Double(size)
    var counts = pace.wanted > 1 ? [1, pace.wanted] : [1]
    var (time, grown, flowing) = (0.0, 0.0, 1)
    var left = Double(burst)
    var ticks = 0
    while remaining > 0, time < 1000 {
      ticks += 1
      time += 0.01
      if time - grown >= delay { flowing = min(most, pace.wanted) }
      let fast = min(left, 1e7)
      left -= fast
      let isDue = step.map { ticks % $0 == 1 } ?? true
      remaining -= fast > 0 ? fast : isDue ? rate(flowing) * 0.01 * Double(step ?? 1) : 0
      let hasGrown = pace.look(
        at: .seconds(time), remaining: Int64(max(0, remaining)), active: min(most, pace.wanted),
        allFlow: flowing == min(most, pace.wanted))
      if hasGrown {
        counts.append(pace.wanted)
        grown = time
      }
    }
    return (counts, time)
  }

  struct Line: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var mebibytes: Int64 = 512
    /// Of these, those that come at a gigabyte a second.
    var burst: Int64 = 0
    var isFar = false
    /// In hundredths of a second.
    var step: Int?
    var most = Int.max
    let rate: @Sendable (Int) -> Double
    let counts: [Int]
    let seconds: Double
  }

  /// Once the first window of half a gigabyte from afar arrived within ten milliseconds. That was plenty, and the file
  /// stayed with one connection for seven seconds, where five took 1.4.
  static let lines = [
    Line(
      testDescription: "a burst, then a slow line for each connection", burst: 64, rate: { Double($0) * 4e6 },
      counts: [1, 2, 8, 32], seconds: 6),
    Line(
      testDescription: "a burst, then a narrow link", mebibytes: 128, burst: 64, rate: { _ in 4e6 },
      counts: [1, 2, 8], seconds: 18),
    Line(
      testDescription: "the burst leaves little, which takes long", mebibytes: 68, burst: 64,
      rate: { Double($0) * 2e5 },
      counts: [1, 2, 8, 32], seconds: 6),
    Line(
      testDescription: "from afar the burst leaves little, which takes long", mebibytes: 68, burst: 64, isFar: true,
      rate: { Double($0) * 2e5 }, counts: [1, 2, 32], seconds: 3),
    Line(
      testDescription: "a burst that is nearly all of it", mebibytes: 64, burst: 63, rate: { Double($0) * 2e7 },
      counts: [1], seconds: 0.2),
    Line(
      testDescription: "from afar, a window each round trip", isFar: true, step: 10, rate: { Double($0) * 75e6 },
      counts: [1, 2, 16], seconds: 1),
    Line(
      testDescription: "a proxy near by passes on what it gathered for half a second", step: 50,
      rate: { Double($0) * 4e6 }, counts: [1, 2, 8, 32], seconds: 8),
    Line(
      testDescription: "a host that takes four at a time", mebibytes: 64, burst: 16, most: 4,
      rate: { Double($0) * 4e6 },
      counts: [1, 2, 8], seconds: 4),
  ]

  @Test(arguments: lines) func noAnswerIsFinal(_ line: Line) {
    let (counts, seconds) = run(
      line.mebibytes * Self.mib, isFar: line.isFar, burst: line.burst * Self.mib, step: line.step, most: line.most,
      rate: line.rate)
    #expect(counts == line.counts)
    #expect(seconds < line.seconds)
  }

  @Test func aServerThatLimitsEachConnectionIsGivenMany() {
    let (counts, seconds) = run(64 * Self.mib) { Double($0) * 4e6 }
    #expect(counts == [1, 2, 8, 32])
    #expect(seconds < 1.0)
  }

  @Test func aNarrowLinkIsLeftAlone() {
    #expect(run(64 * Self.mib) { _ in 4e6 }.counts == [1, 2, 8])
  }

  @Test func whatIsOverSoonIsLeftAlone() {
    #expect(run(500 * Self.mib) { _ in 1.2e9 }.counts == [1])
    #expect(run(Self.mib) { Double($0) * 4e6 }.counts == [1])
    #expect(run(Self.mib * 3 / 2) { Double($0) * 4e6 }.counts == [1, 2])
    #expect(run(4 * Self.mib) { Double($0) * 4e6 }.counts == [1, 2, 8])
  }

  /// From another continent a new connection takes longer than what it could save.
  @Test func distanceCounts() {
    var pace = SegmentPlanner(ceiling: 32, delay: .milliseconds(600))
    for step in 1...4 {
      _ = pace.look(
        at: .milliseconds(step * 50), remaining: 8_000_000 - Int64(step) * 200_000, active: 1, allFlow: true)
    }
    #expect(pace.wanted == 1, "two seconds are left, and a connection takes more than half of one")
  }

  /// Where each round trip is a good part of the whole, little is waited for, and the first step is a longer
  /// one: 8 and 16 MiB at 50 ms and 4 MB/s a connection once took a sixth longer than with aria2c.
  @Test func aMediumFileFromAfarIsGivenManyAtOnce() {
    for (size, first) in [(8, 16), (16, 32)] {
      let (counts, seconds) = run(Int64(size) * Self.mib, delay: 0.05, isFar: true) { Double($0) * 4e6 }
      #expect(counts.prefix(3) == [1, 2, first])
      #expect(seconds < 0.45)
    }
    // What is over soon is left alone there too.
    #expect(run(4 * Self.mib, delay: 0.05, isFar: true) { _ in 6e7 }.counts == [1])
    #expect(run(Self.mib, delay: 0.05, isFar: true) { Double($0) * 4e6 }.counts == [1])
  }

  /// Seven parts were asked for at once of a cache that did not have the file yet: it fetched all of it for
  /// each, eight times over the one line to its origin, and answered with the whole. A file of two seconds
  /// took fifteen.
  @Test func nobodyElseAsksBeforeTheFirstPartComes() {
    var pace = SegmentPlanner(ceiling: 32)
    var remaining = 640 * Self.mib
    for step in 1...200 {
      remaining -= 400_000
      _ = pace.look(at: .milliseconds(step * 50), remaining: remaining, active: 2, allFlow: pace.wanted == 1)
    }
    #expect(pace.wanted == 2)
    #expect(pace.interval(at: .milliseconds(600)) == .milliseconds(20))
    #expect(pace.interval(at: .milliseconds(3100)) == .milliseconds(750))
    #expect(pace.interval(at: .seconds(100)) == .seconds(2))
    #expect(pace.patienceWithProbe == .seconds(1))
    let hasGrown = pace.look(at: .seconds(10.1), remaining: remaining, active: 2, allFlow: true)
    #expect(hasGrown && pace.wanted == 8)
    #expect(pace.patienceWithProbe == nil)
  }

  /// A thousand slow files, of which none was worth a second transfer, were each looked at four times a second. That
  /// took a sixth of a core, and receiving a fiftieth.
  @Test func eachLookComesAfterTwiceTheTime() throws {
    var pace = SegmentPlanner(ceiling: 32)
    var (now, looks) = (Duration.zero, 0)
    while now < .seconds(1000) {
      now += try #require(pace.interval(at: now))
      looks += 1
      let hasGrown = pace.look(
        at: now, remaining: 1 << 40 - Int64(now / .milliseconds(1)) * 1_000_000, active: 1, allFlow: true)
      #expect(!hasGrown, "a gigabyte a second is plenty")
    }
    #expect(looks < 25)
  }

  @Test func tooLittleToDivide() {
    var pace = SegmentPlanner(ceiling: 32)
    for step in 1...3 {
      _ = pace.look(at: .milliseconds(step * 50), remaining: Int64(70_000 - step * 10_000), active: 1, allFlow: true)
    }
    #expect(pace.wanted == 1 && pace.interval(at: .seconds(1)) == nil)
  }

  @Test func piecesLeaveSomethingToOthers() {
    let piece = RequestSize(divisor: 4, least: 0)
    #expect(piece.end(from: 0, to: 100 * Self.mib) == 25 * Self.mib)
    #expect(piece.end(from: 90 * Self.mib, to: 100 * Self.mib) == 90 * Self.mib + 10 * Self.mib / 4)
    // What is left would be no request of its own.
    #expect(piece.end(from: 0, to: Self.mib * 3 / 2) == Self.mib * 3 / 2)
    #expect(piece.end(from: 0, to: 2 * Self.mib) == Self.mib)
    #expect(piece.end(from: 5, to: 9) == 9)
    #expect(RequestSize(divisor: 2, least: 30 * Self.mib).end(from: 0, to: 40 * Self.mib) == 40 * Self.mib)
  }

  /// Four files of half a gigabyte from the same machine took three times as long in parts.
  @Test func aConnectionThatBringsPlentyIsLeftAlone() {
    #expect(run(5000 * Self.mib) { _ in 2e8 }.counts == [1])
    #expect(run(5000 * Self.mib) { Double($0) * 1e8 }.counts == [1, 2, 8, 32])
  }

  @Test func neverMoreThanAllowed() {
    #expect(run(640 * Self.mib, ceiling: 6) { Double($0) * 4e6 }.counts == [1, 2, 6])
    #expect(run(640 * Self.mib, ceiling: 1) { Double($0) * 4e6 }.counts == [1])
  }

  /// As soon as more bring no more, there is an end to it.
  @Test func aLinkThatIsFull() {
    #expect(run(640 * Self.mib) { min(Double($0), 9) * 4e6 }.counts == [1, 2, 8, 32])
  }

  @Test func aHostWithoutRoomIsNotAskedAgain() {
    var pace = SegmentPlanner(ceiling: 32)
    var remaining = 640 * Self.mib
    for step in 1...40 {
      remaining -= 400_000
      _ = pace.look(
        at: .milliseconds(step * 50), remaining: remaining, active: min(2, pace.wanted), allFlow: true)
    }
    #expect(pace.wanted == 8, "wanted once, had two")
  }

  @Test func refusalsStop() {
    var pace = SegmentPlanner(ceiling: 32)
    for step in 0...3 {
      _ = pace.look(
        at: .milliseconds(step * 100), remaining: (640 - Int64(step)) * Self.mib, active: pace.wanted,
        allFlow: true)
    }
    #expect(pace.wanted == 8)
    pace.stop(at: 2)
    let hasGrown = pace.look(at: .seconds(10), remaining: 100 * Self.mib, active: 2, allFlow: true)
    #expect(pace.wanted == 2 && !hasGrown)
  }

  private struct Case {
    var segments: [OpenSegment]
    var rates: [Int: Double] = [:]
    var expected: SegmentChoice?
  }

  @Test func choices() {
    func segment(_ id: Int, _ position: Int64, _ end: Int64, _ isTaken: Bool = true, asked: Int64? = nil)
      -> OpenSegment
    {
      OpenSegment(
        id: id, position: position * Self.mib, end: end * Self.mib, isTaken: isTaken,
        asked: asked.map { $0 * Self.mib })
    }
    let cases = [
      // What nobody fetches goes first.
      Case(
        segments: [segment(0, 0, 40), segment(3, 50, 51, false), segment(1, 60, 100)],
        expected: SegmentChoice(segment: 3, offset: 50 * Self.mib)),
      // Then half of the longest.
      Case(
        segments: [segment(0, 0, 20), segment(1, 20, 100)],
        expected: SegmentChoice(segment: 1, offset: 60 * Self.mib)),
      // Long is what takes long.
      Case(
        segments: [segment(0, 0, 20), segment(1, 20, 100)], rates: [0: 1e5, 1: 1e7],
        expected: SegmentChoice(segment: 0, offset: 10 * Self.mib)),
      // What somebody has asked for already is left to that one, as far as there is enough behind it.
      Case(
        segments: [segment(0, 0, 20), segment(1, 20, 100, asked: 70)],
        expected: SegmentChoice(segment: 1, offset: 70 * Self.mib)),
      Case(
        segments: [segment(0, 0, 20), segment(1, 20, 100, asked: 30)],
        expected: SegmentChoice(segment: 1, offset: 60 * Self.mib)),
      // Else it is broken off, if that gains enough; else there is another.
      Case(
        segments: [segment(0, 0, 20), segment(1, 20, 100, asked: 90)],
        expected: SegmentChoice(segment: 1, offset: 60 * Self.mib)),
      Case(
        segments: [segment(0, 0, 2), segment(1, 20, 30, asked: 30)], rates: [0: 1.5e6, 1: 7e6],
        expected: SegmentChoice(segment: 0, offset: Self.mib)),
      // Not what is over in a second, nor the last bytes of a slow one.
      Case(segments: [segment(0, 0, 4)], rates: [0: 5e6], expected: nil),
      Case(
        segments: [OpenSegment(id: 0, position: 0, end: 500_000, isTaken: true)], rates: [0: 1000],
        expected: nil),
      // Sixteen transfers of half a MiB each once were eight of one.
      Case(
        segments: [OpenSegment(id: 1, position: 0, end: 930_000, isTaken: true)], rates: [1: 5e5],
        expected: SegmentChoice(segment: 1, offset: 465_000)),
      Case(segments: [], expected: nil),
    ]
    for row in cases {
      #expect(
        SegmentChoice.next(row.segments, rates: row.rates, typical: 1e6, worthwhile: .seconds(1))
          == row.expected
      )
    }
  }
}
