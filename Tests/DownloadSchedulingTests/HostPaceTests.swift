import DownloadModel
import Testing

@testable import DownloadScheduling

@Suite("What a host takes, by what it answered (http.md 12)")
struct HostPaceTests {
  private static let busy = DownloadError(.status, cause: .http(status: 503), isPassing: true)
  private static let down = DownloadError(.connect, isPassing: true)
  private let policy = RetryPolicy()

  private static func asking(_ seconds: Int) -> DownloadError {
    DownloadError(.status, cause: .http(status: 429), isPassing: true, retryAfter: .seconds(seconds))
  }

  /// A host that serves two at a time and refuses the rest has said so, in one round and without a pause.
  @Test func theLimitFallsToThoseThatAreServed() {
    var pace = HostPace(ceiling: 16)
    for _ in 0..<16 { pace.begin() }
    #expect(!pace.hasRoom(at: .zero))
    for _ in 0..<14 { #expect(pace.refuse(Self.busy, at: .zero, policy, random: 0.5) == .again(.zero)) }
    #expect(pace.limit == 2 && pace.inUse == 2)
    #expect(!pace.hasRoom(at: .zero))
    pace.end()
    #expect(pace.hasRoom(at: .zero))
  }

  @Test func itIsRaisedSlowlyAndEachTimeMoreSlowly() {
    var pace = HostPace(ceiling: 4)
    func served(until limit: Int) -> Int {
      var count = 0
      while pace.limit < limit, count < 10_000 {
        pace.begin()
        pace.end()
        count += 1
      }
      return count
    }
    pace.begin()
    pace.begin()
    _ = pace.refuse(Self.busy, at: .zero, policy, random: 0.5)
    pace.end()
    let first = served(until: 2)
    pace.begin()
    pace.begin()
    _ = pace.refuse(Self.busy, at: .zero, policy, random: 0.5)
    pace.end()
    let second = served(until: 2)
    #expect(first == 7 && second == 15, "\(first), then \(second)")  // and the one that was under way
    _ = served(until: 4)
    #expect(pace.limit == 4)
    #expect(served(until: 5) == 10_000, "never above its ceiling")
  }

  /// Nobody is served: the whole host is left alone, for longer each time, and given up in the end.
  @Test func aHostThatServesNobody() {
    var pace = HostPace(ceiling: 4)
    var now = Duration.zero
    for ceiling in [0.5, 1, 2, 4, 8] {
      pace.begin()
      let pause = Duration.seconds(ceiling * 0.5)
      #expect(pace.refuse(Self.down, at: now, policy, random: 0.5) == .again(now + pause))
      #expect(!pace.hasRoom(at: now + pause - .nanoseconds(1)) && pace.hasRoom(at: now + pause))
      now += pause
    }
    pace.begin()
    #expect(pace.refuse(Self.down, at: now, policy, random: 0.5) == .givenUp)
    pace.giveUp(policy)
    pace.begin()
    #expect(
      pace.refuse(Self.down, at: now, policy, random: 0.5) == .givenUp, "at the first refusal from then on")
    pace.begin()
    pace.end()
    pace.begin()
    #expect(pace.refuse(Self.down, at: now, policy, random: 0.5) != .givenUp, "an answer mends everything")
  }

  /// What is refused together says once how many are too many (http.md 39).
  @Test(arguments: [
    // under way, of which served before, refused, served between → limit
    (24, 0, 14, 0, 10), (24, 10, 14, 0, 10), (24, 0, 24, 0, 12), (3, 2, 1, 0, 2), (1, 0, 1, 0, 32),
    (24, 0, 7, 17, 17),
  ])
  func onceARound(width: Int, before: Int, refused: Int, between: Int, limit: Int) {
    var pace = HostPace(ceiling: 64)
    for _ in 0..<width { pace.begin() }
    for index in 0..<refused {
      // Some are served and replaced while the others' refusals arrive.
      if index < between {
        pace.end()
        if pace.hasRoom(at: .zero) { pace.begin() }
      }
      _ = pace.refuse(Self.busy, at: .zero, policy, random: 0.5)
      if index == 0 { for _ in 0..<before { pace.end() } }
    }
    #expect(pace.limit == limit)
  }

  @Test func allOfTheNextRoundToo() {
    var pace = HostPace(ceiling: 64)
    var limits: [Int] = []
    var now = Duration.zero
    for _ in 0..<4 {
      for _ in 0..<min(16, pace.limit) { pace.begin() }
      for _ in 0..<pace.inUse { _ = pace.refuse(Self.busy, at: now, policy, random: 0.5) }
      limits.append(pace.limit)
      now += .seconds(60)
    }
    #expect(limits == [8, 4, 2, 1])
  }

  /// What was left unanswered while others were answered says how many connections those had (http.md 38): no pause, no
  /// refusal, and no further one for a while.
  @Test func asManyAsAnswer() {
    var pace = HostPace(ceiling: 64)
    for _ in 0..<24 { pace.begin() }
    let error = DownloadError(
      .unanswered, isPassing: true, overtaken: .init(waited: .milliseconds(40), loop: 1, answering: [1, 2]))
    for _ in 0..<21 { #expect(pace.refuse(error, at: .zero, policy, random: 0.5) == .again(.zero)) }
    #expect(pace.limit == 3 && pace.inUse == 3 && pace.refusals == 0)
    for _ in 0..<3 { pace.end() }
    for _ in 0..<60 {
      pace.begin()
      pace.end()
    }
    #expect(pace.limit == 3)
    let trial = DownloadError(
      .unanswered, isPassing: true, overtaken: .init(waited: .milliseconds(40), loop: 0, isIdle: true))
    pace.begin()
    #expect(pace.refuse(trial, at: .zero, policy, random: 0.5) == .again(.zero))
    #expect(pace.limit == 3 && pace.inUse == 0)
  }

  /// Sixteen that were under way when the host went down are one refusal, not sixteen.
  @Test func thoseUnderWayLearntNothingNew() {
    var pace = HostPace(ceiling: 16)
    for _ in 0..<16 { pace.begin() }
    for _ in 0..<16 { _ = pace.refuse(Self.down, at: .zero, policy, random: 0.5) }
    #expect(pace.refusals == 1)
  }

  @Test func retryAfterHoldsBackTheWholeHost() {
    var pace = HostPace(ceiling: 8)
    for _ in 0..<3 { pace.begin() }
    #expect(pace.refuse(Self.asking(5), at: .seconds(1), policy, random: 0) == .again(.seconds(6)))
    #expect(pace.refuse(Self.asking(2), at: .seconds(1), policy, random: 0) == .again(.seconds(6)))
    pace.end()
    #expect(!pace.hasRoom(at: .seconds(5)) && pace.hasRoom(at: .seconds(6)))
    pace.begin()
    #expect(pace.refuse(Self.asking(3600), at: .seconds(7), policy, random: 0) == .givenUp)
  }

  @Test func whatIsARefusal() {
    let turnedAway = DownloadError(.reset, isPassing: true, wasTurnedAway: true)
    for error in [Self.busy, Self.down, Self.asking(1), DownloadError(.resolve, isPassing: true), turnedAway]
    {
      #expect(HostPace.isRefusal(error))
    }
    let others = [
      DownloadError(.status, cause: .http(status: 500), isPassing: true),
      DownloadError(.reset, isPassing: true),
      DownloadError(.status, cause: .http(status: 404)), DownloadError(.certificate), .cancelled,
    ]
    for error in others { #expect(!HostPace.isRefusal(error)) }
  }
}
