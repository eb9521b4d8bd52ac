import DownloadModel
import Testing

@testable import DownloadScheduling

@Suite("What a host takes, by what it answered (HTTP rule 12)")
struct HostLimiterTests {
  private static let busy = DownloadError(.status, cause: .http(status: 503), isTransient: true)
  private static let down = DownloadError(.connect, isTransient: true)
  private let policy = RetryPolicy()

  private static func asking(_ seconds: Int) -> DownloadError {
    DownloadError(.status, cause: .http(status: 429), isTransient: true, retryAfter: .seconds(seconds))
  }

  /// A host that serves two at a time and refuses the rest has said so, in one round and without a pause.
  @Test func theLimitFallsToThoseThatAreServed() {
    var limiter = HostLimiter(ceiling: 16)
    for _ in 0..<16 { limiter.begin() }
    #expect(!limiter.hasRoom(at: .zero))
    for _ in 0..<14 { #expect(limiter.refuse(Self.busy, at: .zero, policy, random: 0.5) == .zero) }
    #expect(limiter.limit == 2 && limiter.inUse == 2)
    #expect(!limiter.hasRoom(at: .zero))
    limiter.end()
    #expect(limiter.hasRoom(at: .zero))
  }

  /// The story: of 15 requests in flight towards a host of eight connections, one waited for its file's commit, and its
  /// connection had the next request already. Six were refused, so that the limit was nine, and the ninth cost a pause.
  @Test(arguments: [(connections: 8, limit: 8), (connections: 14, limit: 9), (connections: 1, limit: 9)])
  func aFileBeingCommittedHasNoConnection(row: (connections: Int, limit: Int)) {
    var limiter = HostLimiter(ceiling: 64)
    for _ in 0..<15 { limiter.begin() }
    limiter.connections = row.connections
    for _ in 0..<6 { _ = limiter.refuse(Self.busy, at: .zero, policy, random: 0.5) }
    #expect(limiter.limit == row.limit)
  }

  /// The story: ten processes took a host of eight connections for one of nine, as files being committed counted, and
  /// the refusal of the ninth did not lower the nine for the same reason. So each ninth cost a pause of a second.
  @Test(arguments: [(served: 8, limit: 9), (served: 9, limit: 8)])
  func aRefusalUnderAnExactLimitLowersIt(row: (served: Int, limit: Int)) {
    var limiter = HostLimiter(ceiling: 64)
    limiter.adopt(HostLimiter.Lesson(limit: 9, servedForMore: 16, isExact: true))
    limiter.elsewhere = 9
    for _ in 0..<row.served {
      limiter.begin()
      limiter.end()
    }
    limiter.begin()
    _ = limiter.refuse(Self.asking(1), at: .zero, policy, random: 0.5)
    #expect(limiter.limit == row.limit)
  }

  /// Said of the times of two runs, so only pauses count in which it served none, and none twice.
  @Test func waitingForABusyHostIsCounted() {
    var limiter = HostLimiter(ceiling: 16)
    for _ in 0..<3 { limiter.begin() }
    for _ in 0..<2 { _ = limiter.refuse(Self.busy, at: .zero, policy, random: 0.5) }
    #expect(limiter.waited == .zero, "one is still served")
    _ = limiter.refuse(Self.asking(2), at: .zero, policy, random: 0.5)
    #expect(limiter.waited == .seconds(2))
    limiter.coolDown(until: .seconds(3), from: .seconds(1))
    #expect(limiter.waited == .seconds(3))
    limiter.coolDown(until: .seconds(9), from: .seconds(4), isDown: true)
    #expect(limiter.waited == .seconds(3), "without a connection it is not busy")
  }

  struct Opening: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var opening = 8
    var ceiling = 64
    /// What happens while as many are in flight as may be.
    var change: @Sendable (inout HostLimiter) -> Void = { _ in }
    let room: Int
  }

  static let openings = [
    Opening(testDescription: "nothing is known", room: 8),
    Opening(testDescription: "the user allows fewer", ceiling: 3, room: 3),
    Opening(testDescription: "the user's own number", opening: 64, room: 64),
    Opening(testDescription: "seven answers", change: { for _ in 0..<7 { $0.answered() } }, room: 8),
    Opening(testDescription: "as many answers as requests", change: { for _ in 0..<8 { $0.answered() } }, room: 64),
    Opening(testDescription: "a file was served", change: { $0.end() }, room: 64),
    Opening(testDescription: "a file was not asked for", change: { $0.drop() }, room: 8),
    Opening(testDescription: "another process was served", change: { $0.hasServed = true }, room: 64),
    Opening(testDescription: "another process knows its limit", change: { $0.adopt(.init(limit: 20)) }, room: 20),
    Opening(testDescription: "another process asks as well", change: { $0.elsewhere = 5 }, room: 3),
    Opening(testDescription: "ten processes ask as well", change: { $0.elsewhere = 80 }, room: 1),
    Opening(
      testDescription: "some are refused",
      change: { for _ in 0..<6 { _ = $0.refuse(busy, at: .zero, RetryPolicy(), random: 0.5) } }, room: 2),
  ]

  /// HTTP rule 56. The story: 64 requests went to a host before its first answer said that it takes eight a second.
  @Test(arguments: openings) func anUnknownHostGetsAFewRequests(row: Opening) {
    var limiter = HostLimiter(ceiling: row.ceiling, opening: row.opening)
    while limiter.hasRoom(at: .zero) { limiter.begin() }
    #expect(limiter.inUse == min(row.ceiling, row.opening))
    row.change(&limiter)
    #expect(limiter.room == row.room)
  }

  /// The story: where another process had been served before, the first round was not trusted, and one more was tried
  /// after each few files, at a second's pause for all.
  @Test func aFirstRoundIsExactWhereOthersWereServedBefore() {
    var limiter = HostLimiter(ceiling: 16)
    limiter.hasServed = true
    for _ in 0..<16 { limiter.begin() }
    for _ in 0..<8 { _ = limiter.refuse(Self.busy, at: .zero, policy, random: 0.5) }
    #expect(limiter.limit == 8 && limiter.lesson.isExact)
  }

  /// The story: a host of eight served the opening of eight, so its first refusals were taken for chance, and one more
  /// was tried again and again, at a second's pause for all.
  @Test(arguments: [(8, true), (32, true), (33, false)]) func refusalsAfterTheOpeningAreExact(row: (Int, Bool)) {
    let (files, isExact) = row
    var limiter = HostLimiter(ceiling: 64, opening: 8)
    for _ in 0..<files {
      limiter.begin()
      limiter.end()
    }
    for _ in 0..<12 { limiter.begin() }
    for _ in 0..<4 { _ = limiter.refuse(Self.busy, at: .zero, policy, random: 0.5) }
    #expect(limiter.limit == 8 && limiter.lesson.isExact == isExact)
  }

  @Test func itIsRaisedSlowlyAndEachTimeMoreSlowly() {
    var limiter = HostLimiter(ceiling: 4)
    func served(until limit: Int) -> Int {
      var count = 0
      while limiter.limit < limit, count < 10_000 {
        limiter.begin()
        limiter.end()
        count += 1
      }
      return count
    }
    limiter.begin()
    limiter.begin()
    _ = limiter.refuse(Self.busy, at: .zero, policy, random: 0.5)
    limiter.end()
    let first = served(until: 2)
    limiter.begin()
    limiter.begin()
    _ = limiter.refuse(Self.busy, at: .zero, policy, random: 0.5)
    limiter.end()
    let second = served(until: 2)
    #expect(first == 7 && second == 15, "\(first), then \(second)")  // and the one that was under way
    _ = served(until: 4)
    #expect(limiter.limit == 4)
    #expect(served(until: 5) == 10_000, "never above its ceiling")
  }

  /// A host that served eight of the first twelve is not asked for a ninth before a minute is over, since each trial
  /// costs a refusal; one that refused all of them has shown nothing.
  @Test(arguments: [4, 12]) func whatTheFirstRoundShows(refused: Int) {
    var limiter = HostLimiter(ceiling: 64)
    for _ in 0..<12 { limiter.begin() }
    for _ in 0..<refused { _ = limiter.refuse(Self.busy, at: .zero, policy, random: 0.5) }
    let isExact = refused < 12
    #expect(limiter.limit == (isExact ? 8 : 6) && limiter.lesson.isExact == isExact)
    func serve(_ count: Int, at now: Duration) {
      for _ in 0..<count {
        limiter.goOn(at: now)
        limiter.begin()
        limiter.end()
      }
    }
    serve(100, at: .seconds(1))
    #expect(isExact == (limiter.limit == 8))
    serve(100, at: .seconds(62))
    #expect(limiter.limit > 8)
  }

  /// As `RateLimit` says: no more begin before the reset than remain, whoever of those in flight was counted.
  @Test func asManyAsRemain() {
    var limiter = HostLimiter(ceiling: 16)
    func begun(at now: Duration) -> Int {
      let before = limiter.inUse
      while limiter.hasRoom(at: now) { limiter.begin() }
      return limiter.inUse - before
    }
    for _ in 0..<4 { limiter.begin() }
    limiter.allow((left: 5, time: .seconds(10)), at: .zero)
    limiter.end()
    #expect(begun(at: .zero) == 2, "three may not be counted yet")
    limiter.allow((left: 4, time: .seconds(9)), at: .seconds(1))
    #expect(begun(at: .seconds(1)) == 0, "they are known already")
    limiter.allow((left: 0, time: .seconds(8)), at: .seconds(2))
    for _ in 0..<4 { limiter.end() }
    #expect(limiter.opensAt == .seconds(10) && begun(at: .seconds(9.9)) == 0)
    #expect(limiter.cooldownUntil == .zero && !limiter.isPristine, "it refused nothing")
    #expect(begun(at: .seconds(10)) == 5, "all that were ever left, and the one that said so")
    limiter.end()
    #expect(begun(at: .seconds(10)) == 1, "what says nothing more holds nobody up")
    // Long bodies hold nobody up: they were counted when they were answered.
    for _ in 0..<5 { limiter.allow((left: 1, time: .milliseconds(500)), at: .seconds(10)) }
    limiter.allow((left: 8, time: .seconds(10)), at: .seconds(11))
    #expect(begun(at: .seconds(11)) == 8)
    // A bucket that fills up all the time says more, not less.
    limiter.allow((left: 100, time: .seconds(1)), at: .seconds(12))
    #expect(begun(at: .seconds(12)) == 2)
  }

  /// The answer to the first of four requests came last, and a fifth began, which the host refused.
  @Test func anEarlierAnswerThatComesLate() {
    var limiter = HostLimiter(ceiling: 16)
    for _ in 0..<4 { limiter.begin() }
    for left in [2, 1, 0, 3] { limiter.allow((left: left, time: .seconds(1)), at: .milliseconds(10)) }
    for _ in 0..<4 { limiter.end() }
    #expect(!limiter.hasRoom(at: .milliseconds(20)) && limiter.hasRoom(at: .seconds(2)))
  }

  /// Nobody is served: the whole host is left alone, for longer each time, and given up in the end.
  @Test func aHostThatServesNobody() {
    var limiter = HostLimiter(ceiling: 4)
    var now = Duration.zero
    for ceiling in [1.1, 2.2, 4.4, 8.8, 17.6] {
      limiter.begin()
      let pause = Duration.milliseconds(Int(ceiling * 750))
      #expect(limiter.refuse(Self.down, at: now, policy, random: 0.5) == now + pause)
      #expect(!limiter.hasRoom(at: now + pause - .nanoseconds(1)) && limiter.hasRoom(at: now + pause))
      now += pause
    }
    limiter.begin()
    #expect(limiter.refuse(Self.down, at: now, policy, random: 0.5) == nil)
    limiter.giveUp(policy)
    limiter.begin()
    #expect(
      limiter.refuse(Self.down, at: now, policy, random: 0.5) == nil, "at the first refusal from then on"
    )
    limiter.begin()
    limiter.end()
    limiter.begin()
    #expect(limiter.refuse(Self.down, at: now, policy, random: 0.5) != nil, "an answer mends everything")
  }

  /// What is refused together says once how many are too many (HTTP rule 39).
  @Test(arguments: [
    // under way, of which served before, refused, served between → limit
    (24, 0, 14, 0, 10), (24, 10, 14, 0, 10), (24, 0, 24, 0, 12), (3, 2, 1, 0, 2), (1, 0, 1, 0, 32),
    (24, 0, 7, 17, 17),
  ])
  func onceARound(width: Int, before: Int, refused: Int, between: Int, limit: Int) {
    var limiter = HostLimiter(ceiling: 64)
    for _ in 0..<width { limiter.begin() }
    for index in 0..<refused {
      // Some are served and replaced while the others' refusals arrive.
      if index < between {
        limiter.end()
        if limiter.hasRoom(at: .zero) { limiter.begin() }
      }
      _ = limiter.refuse(Self.busy, at: .zero, policy, random: 0.5)
      if index == 0 { for _ in 0..<before { limiter.end() } }
    }
    #expect(limiter.limit == limit)
  }

  @Test func allOfTheNextRoundToo() {
    var limiter = HostLimiter(ceiling: 64)
    var limits: [Int] = []
    var now = Duration.zero
    for _ in 0..<4 {
      for _ in 0..<min(16, limiter.limit) { limiter.begin() }
      for _ in 0..<limiter.inUse { _ = limiter.refuse(Self.busy, at: now, policy, random: 0.5) }
      limits.append(limiter.limit)
      now += .seconds(60)
    }
    #expect(limits == [8, 4, 2, 1])
  }

  /// What was left unanswered while others were answered says how many connections those had (HTTP rule 38):
  /// no pause, no refusal, and no further one for a while.
  @Test func asManyAsAnswer() {
    var limiter = HostLimiter(ceiling: 64)
    for _ in 0..<24 { limiter.begin() }
    for _ in 0..<21 {
      limiter.heard(.unanswered(for: .milliseconds(40), .limit(to: [1, 2])))
      limiter.drop()
    }
    #expect(limiter.limit == 3 && limiter.inUse == 3 && limiter.refusals == 0)
    for _ in 0..<3 { limiter.end() }
    for _ in 0..<60 {
      limiter.begin()
      limiter.end()
    }
    #expect(limiter.limit == 3)
    limiter.heard(.unanswered(for: .milliseconds(40), .retry(loop: 0, isIdle: true)))
    #expect(limiter.limit == 3 && limiter.cooldownUntil == .zero)
  }

  /// Where a host brings as little to half as many, its address is the cause, which is left (HTTP rule 39).
  @Test func halfAsManyUntilItGoesOnElsewhere() {
    var limiter = HostLimiter(ceiling: 64)
    for _ in 0..<16 { limiter.begin() }
    let before = limiter.limit
    let moved = HostNews.collapsed(.retry(loop: 0, isIdle: true))
    for _ in 0..<8 { limiter.heard(.collapsed(.limit(to: [4, 4]))) }
    #expect(limiter.limit == 8)
    for _ in 0..<4 { limiter.heard(moved) }
    #expect(limiter.limit == before)
    // What it taught since is not forgotten.
    for _ in 0..<12 { limiter.drop() }
    limiter.heard(.collapsed(.limit(to: [2, 2])))
    _ = limiter.refuse(Self.busy, at: .zero, policy, random: 0.5)
    let learnt = limiter.lesson
    limiter.heard(moved)
    #expect(limiter.lesson == learnt && limiter.limit < 4)
  }

  /// Sixteen that were under way when the host went down are one refusal, not sixteen.
  @Test func thoseUnderWayLearntNothingNew() {
    var limiter = HostLimiter(ceiling: 16)
    for _ in 0..<16 { limiter.begin() }
    for _ in 0..<16 { _ = limiter.refuse(Self.down, at: .zero, policy, random: 0.5) }
    #expect(limiter.refusals == 1)
  }

  /// The story: while others were under way, which had not noticed yet that the server was restarted, a file
  /// that could not connect was asked again at once, until it had been refused too often.
  @Test func noConnectionPausesTheHostUntilItServes() {
    var limiter = HostLimiter(ceiling: 8)
    for _ in 0..<4 { limiter.begin() }
    let pause = Duration.milliseconds(825)
    #expect(limiter.refuse(Self.down, at: .seconds(1), policy, random: 0.5) == .seconds(1) + pause)
    #expect(limiter.refuse(Self.down, at: .seconds(1), policy, random: 0.5) == .seconds(1) + pause)
    #expect(!limiter.hasRoom(at: .seconds(1)) && limiter.refusals == 1)
    limiter.end()
    #expect(limiter.hasRoom(at: .seconds(1)), "it serves others")
  }

  @Test func retryAfterHoldsBackTheWholeHost() {
    var limiter = HostLimiter(ceiling: 8)
    for _ in 0..<3 { limiter.begin() }
    #expect(limiter.refuse(Self.asking(5), at: .seconds(1), policy, random: 0) == .seconds(6))
    #expect(limiter.refuse(Self.asking(2), at: .seconds(1), policy, random: 0) == .seconds(6))
    limiter.end()
    #expect(!limiter.hasRoom(at: .seconds(5)) && limiter.hasRoom(at: .seconds(6)))
    limiter.begin()
    #expect(limiter.refuse(Self.asking(3600), at: .seconds(7), policy, random: 0) == nil)
  }

  @Test func whatIsARefusal() {
    let turnedAway = DownloadError(.reset, isTransient: true, wasTurnedAway: true)
    for error in [
      Self.busy, Self.down, Self.asking(1), DownloadError(.resolve, isTransient: true), turnedAway,
    ] {
      #expect(error.isRefusal)
    }
    let others = [
      DownloadError(.status, cause: .http(status: 500), isTransient: true),
      DownloadError(.reset, isTransient: true),
      DownloadError(.status, cause: .http(status: 404)), DownloadError(.certificate), .cancelled,
    ]
    for error in others { #expect(!error.isRefusal) }
  }
}
