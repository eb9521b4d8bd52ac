import Testing

@testable import CurlTransport

@Suite("Whether a host leaves requests unanswered for want of workers (HTTP rule 38)")
struct OvertakenRuleTests {
  private typealias Rule = OvertakenRule

  private static func facts(_ busy: [Int], _ idle: [Int], answers: Int = 0, first: UInt64 = 1_000_000)
    -> [OvertakenRule.Facts]
  {
    var facts = zip(busy, idle).map { OvertakenRule.Facts(busy: $0, idle: $1, firstAnswer: first) }
    facts[0].answers = answers
    return facts
  }

  private static func mark(_ answering: [Int], answers: Int = 0, wasIdle: Bool = false) -> OvertakenRule.Mark {
    OvertakenRule.Mark(answering: answering, answers: answers, wasIdle: wasIdle)
  }

  private static func milliseconds(_ count: UInt64) -> UInt64 { count * 1_000_000 }

  @Test func connectionsThatAreIdle() {
    let facts = Self.facts([0, 0], [1, 2])
    let mark = Self.mark([1, 2], wasIdle: true)
    let wait = Self.milliseconds(51)
    #expect(Rule.judge(.init(all: wait), facts, since: mark, .init()) == .tryOne(loop: 0, isIdle: true))
    #expect(
      Rule.judge(.init(all: wait), Self.facts([1, 0], [0, 2]), since: mark, .init())
        == .tryOne(loop: 1, isIdle: true))
    // Seen once only: it may be between two transfers.
    #expect(Rule.judge(.init(all: wait), facts, since: Self.mark([1, 2]), .init()) == .wait)
    #expect(Rule.judge(.init(all: wait), facts, since: nil, .init()) == .wait)
    // Two at a time.
    #expect(Rule.judge(.init(all: wait), facts, since: mark, .init(pending: 2)) == .wait)
    // No request has been answered: the server is slow, or away.
    #expect(Rule.judge(.init(all: wait), Self.facts([0, 0], [0, 0]), since: mark, .init()) == .wait)
  }

  /// On a busy machine two trials had failed, for they were slow too, so that nothing was concluded any more.
  /// The last of 59 files waited ten seconds for a connection that nobody accepted, beside idle ones.
  @Test("a connection that does not come up is not waited for beside an idle one, whatever trials showed")
  func connectionsThatDoNotComeUp() {
    var facts = Self.facts([0, 0], [0, 2])
    (facts[1].taken, facts[1].connect) = (2, Self.milliseconds(250))
    let mark = Self.mark([0, 2], wasIdle: true)
    let failed = OvertakenRule.Trials(pending: 9, failures: 4)
    let second = Self.milliseconds(1000)
    func waits(_ untaken: UInt64) -> Rule.Waits { .init(all: untaken, untaken: untaken, untakenCount: 1) }
    let one = Rule.Verdict.tryOne(loop: 1, isIdle: true, isUntaken: true)
    #expect(Rule.judge(waits(second), facts, since: mark, failed) == one)
    #expect(Rule.judge(waits(3 * second), facts, since: mark, .init()) == one)
    // So far away, each takes a quarter of it.
    #expect(Rule.judge(waits(second - 1), facts, since: mark, failed) == .wait)
    // A request that was sent is another matter.
    #expect(Rule.judge(.init(all: second), facts, since: mark, failed) == .wait)
    // Seen idle once only, or not at all.
    #expect(Rule.judge(waits(second), facts, since: Self.mark([0, 2]), failed) == .wait)
    var busy = Self.facts([0, 2], [0, 0])
    (busy[1].taken, busy[1].connect) = (2, Self.milliseconds(250))
    #expect(Rule.judge(waits(second), busy, since: mark, failed) == .wait)
  }

  /// A server with one thread and a queue of five answered 200 requests in 34 s, one after the other in 4 s: 57 of 64
  /// connections waited for the kernel's third attempt.
  @Test("connections that the host does not take while it takes others are not waited for")
  func connectionsThatAreNotTaken() {
    let taken = [
      OvertakenRule.Facts(busy: 1, answers: 3, taken: 3, all: 5, connect: Self.milliseconds(1)),
      OvertakenRule.Facts(taken: 4, all: 20),
    ]
    func verdict(
      _ wait: UInt64, count: Int = 2, _ facts: [OvertakenRule.Facts], since mark: OvertakenRule.Mark? = nil
    ) -> OvertakenRule.Verdict {
      let wait = Self.milliseconds(wait)
      return Rule.judge(.init(all: wait, untaken: wait, untakenCount: count), facts, since: mark, .init())
    }
    let all = Rule.Verdict.giveBack([3, 10], isUntaken: true)
    let one = Rule.Verdict.tryOne(loop: 0, isIdle: true, isUntaken: true)
    #expect(verdict(300, taken) == all)
    // libcurl may try the second of two addresses only now.
    #expect(verdict(299, taken) == .wait)
    // One alone may be lost on its way.
    #expect(verdict(300, count: 1, taken) == one)
    // Nothing was answered since: the host is busy, or away.
    #expect(verdict(300, taken, since: Self.mark([1, 0], answers: 3)) == .wait)
    #expect(verdict(300, taken, since: Self.mark([1, 0], answers: 2)) == all)
    // It has none of ours in its queue: they are tried one by one.
    let none = [OvertakenRule.Facts(answers: 3, all: 2, connect: Self.milliseconds(1)), OvertakenRule.Facts()]
    #expect(verdict(300, none, since: Self.mark([0, 0], answers: 3)) == one)
    // On this machine none takes long.
    var near = taken
    near[0].connect = 100_000
    #expect(verdict(49, near) == .wait)
    #expect(verdict(50, near) == all)
    // Far away, each takes its time.
    var far = taken
    far[0].connect = Self.milliseconds(100)
    #expect(verdict(399, far) == .wait)
    #expect(verdict(400, far) == all)
    // No connection has come up yet.
    #expect(verdict(900, [OvertakenRule.Facts(answers: 3, all: 2)]) == .wait)
  }

  /// A short wait says nothing, and what is short the host itself says.
  @Test(arguments: [(1, 49, false), (1, 50, true), (12, 50, true), (50, 199, false), (50, 200, true)])
  func patience(firstAnswer: UInt64, wait: UInt64, isLong: Bool) {
    let facts = Self.facts([0], [3], first: Self.milliseconds(firstAnswer))
    let verdict = Rule.judge(.init(all: Self.milliseconds(wait)), facts, since: Self.mark([3], wasIdle: true), .init())
    #expect((verdict != .wait) == isLong)
  }

  /// The list goes on meanwhile, so none is idle: but many are answered, and none of them over a new
  /// connection.
  @Test(arguments: [(12, [1, 2], true), (11, [1, 2], false), (12, [1, 1], false)])
  func othersAreAnswered(answers: Int, before: [Int], isOdd: Bool) {
    let facts = Self.facts([1, 2], [0, 0], answers: 100 + answers)
    let mark = Self.mark(before, answers: 100)
    let verdict = Rule.judge(.init(all: Self.milliseconds(60)), facts, since: mark, .init())
    #expect(verdict == (isOdd ? .tryOne(loop: 1, isIdle: false) : .wait))
  }

  /// Three long downloads have the three workers: who waits for one is given back before that is called a
  /// stall.
  @Test func longDownloads() {
    let (wait, mark) = (Self.milliseconds(15_000), Self.mark([3]))
    let busy = Self.facts([3], [0])
    #expect(Rule.judge(.init(all: wait), longest: wait, busy, since: mark, .init()) == .giveBack([3]))
    #expect(Rule.judge(.init(all: wait - 1), longest: wait, busy, since: mark, .init()) == .wait)
    // No request is served: it is the server, and a stall.
    #expect(Rule.judge(.init(all: wait), longest: wait, Self.facts([0], [0]), since: mark, .init()) == .wait)
  }

  /// Two that were answered quickly where others are answered: it is the connections. One that was not: it is
  /// the pages.
  @Test func whatTrialsSay() {
    var trials = Rule.Trials(pending: 2)
    trials.ended(waited: Self.milliseconds(40), answered: Self.milliseconds(2))
    #expect(trials == Rule.Trials(pending: 1, successes: 1))
    trials.ended(waited: Self.milliseconds(40), answered: Self.milliseconds(19))
    #expect(trials == Rule.Trials(successes: 2))
    let facts = Self.facts([1, 0], [0, 2])
    let mark = Self.mark([1, 2], wasIdle: true)
    #expect(
      Rule.judge(.init(all: Self.milliseconds(51)), facts, since: mark, trials) == .giveBack([1, 2]))

    var slow = Rule.Trials(pending: 1)
    slow.ended(waited: Self.milliseconds(40), answered: Self.milliseconds(20))
    #expect(slow == Rule.Trials(failures: 1))
    #expect(Rule.judge(.init(all: Self.milliseconds(399)), facts, since: mark, slow) == .wait)
    #expect(Rule.judge(.init(all: Self.milliseconds(400)), facts, since: mark, slow) != .wait)

    // Over a new connection, or not at all: nothing is learnt, and another one may be tried.
    var lost = Rule.Trials(pending: 1)
    lost.ended()
    #expect(lost == Rule.Trials())
  }
}
