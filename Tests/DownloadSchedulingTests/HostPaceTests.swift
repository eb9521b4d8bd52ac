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
    for error in [Self.busy, Self.down, Self.asking(1), DownloadError(.resolve, isPassing: true)] {
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
