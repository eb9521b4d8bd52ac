import DownloadModel
import Testing

@testable import CurlTransport

@Suite("Whether a host leaves requests unanswered for want of workers (HTTP rule 38)")
struct HostHealthTests {
  private typealias Facts = HostHealth.Facts
  private typealias Verdict = HostHealth.Verdict

  private static func facts(_ busy: [Int], _ idle: [Int], answers: Int = 0, first: UInt64 = 1_000_000) -> [Facts] {
    var facts = zip(busy, idle).map { Facts(busy: $0, idle: $1, first: (first, 0)) }
    facts[0].answers = answers
    return facts
  }

  private static func mark(_ answering: [Int], answers: Int = 0, wasIdle: Bool = false) -> HostHealth.Mark {
    HostHealth.Mark(answering: answering, answers: answers, wasIdle: wasIdle)
  }

  /// What one loop decides about a host that it judged before.
  private enum Rule {
    static func judge(
      _ waits: HostHealth.Waits, longest: UInt64 = .max, _ facts: [Facts], since mark: HostHealth.Mark?,
      _ trials: HostHealth.Trials
    ) -> Verdict? {
      var health = HostHealth()
      health.marks["a"] = mark
      return health.judge("a", waits, longest: longest, facts, trials)
    }
  }

  private static func retry(_ loop: Int, isIdle: Bool = true, isUnaccepted: Bool = false) -> Verdict {
    Verdict(remedy: .retry(loop: loop, isIdle: isIdle), isUnaccepted: isUnaccepted)
  }

  private static func limit(_ connections: [Int], isUnaccepted: Bool = false) -> Verdict {
    Verdict(remedy: .limit(to: connections), isUnaccepted: isUnaccepted)
  }

  private static func milliseconds(_ count: UInt64) -> UInt64 { count * 1_000_000 }

  @Test func connectionsThatAreIdle() {
    let facts = Self.facts([0, 0], [1, 2])
    let mark = Self.mark([1, 2], wasIdle: true)
    let wait = Self.milliseconds(51)
    #expect(Rule.judge(.init(all: wait), facts, since: mark, .init()) == Self.retry(0))
    #expect(
      Rule.judge(.init(all: wait), Self.facts([1, 0], [0, 2]), since: mark, .init())
        == Self.retry(1))
    // Seen once only: it may be between two transfers.
    #expect(Rule.judge(.init(all: wait), facts, since: Self.mark([1, 2]), .init()) == nil)
    #expect(Rule.judge(.init(all: wait), facts, since: nil, .init()) == nil)
    // Two at a time.
    #expect(Rule.judge(.init(all: wait), facts, since: mark, .init(pending: 2)) == nil)
    // No request has been answered: the server is slow, or away.
    #expect(Rule.judge(.init(all: wait), Self.facts([0, 0], [0, 0]), since: mark, .init()) == nil)
  }

  /// On a busy machine two trials had failed, for they were slow too, so that nothing was concluded any more.
  /// The last of 59 files waited ten seconds for a connection that nobody accepted, beside idle ones.
  @Test("a connection that does not come up is not waited for beside an idle one, whatever trials showed")
  func connectionsThatDoNotComeUp() {
    var facts = Self.facts([0, 0], [0, 2])
    facts[1].accepted = 2
    for index in facts.indices { facts[index].first?.connect = Self.milliseconds(250) }
    let mark = Self.mark([0, 2], wasIdle: true)
    let failed = HostHealth.Trials(pending: 9, failures: 4)
    let second = Self.milliseconds(1000)
    func waits(_ time: UInt64) -> HostHealth.Waits { .init(all: time, unaccepted: time, unacceptedCount: 1) }
    let one = Self.retry(1, isUnaccepted: true)
    #expect(Rule.judge(waits(second), facts, since: mark, failed) == one)
    #expect(Rule.judge(waits(3 * second), facts, since: mark, .init()) == one)
    // So far away, each takes a quarter of it.
    #expect(Rule.judge(waits(second - 1), facts, since: mark, failed) == nil)
    // A request that was sent is another matter.
    #expect(Rule.judge(.init(all: second), facts, since: mark, failed) == nil)
    // Seen idle once only, or not at all.
    #expect(Rule.judge(waits(second), facts, since: Self.mark([0, 2]), failed) == nil)
    var busy = Self.facts([0, 2], [0, 0])
    busy[1].accepted = 2
    for index in busy.indices { busy[index].first?.connect = Self.milliseconds(250) }
    #expect(Rule.judge(waits(second), busy, since: mark, failed) == nil)
  }

  /// A server with one thread and a queue of five answered 200 requests in 34 s, one after the other in 4 s: 57 of 64
  /// connections waited for the kernel's third attempt.
  @Test("connections that the host does not take while it takes others are not waited for")
  func connectionsThatAreNotTaken() {
    let taken = [
      Facts(busy: 1, accepted: 3, all: 5, answers: 3, first: (0, Self.milliseconds(1))),
      Facts(accepted: 4, all: 20),
    ]
    func verdict(
      _ wait: UInt64, count: Int = 2, _ facts: [Facts], since mark: HostHealth.Mark? = nil
    ) -> Verdict? {
      let wait = Self.milliseconds(wait)
      return Rule.judge(.init(all: wait, unaccepted: wait, unacceptedCount: count), facts, since: mark, .init())
    }
    let all = Self.limit([3, 10], isUnaccepted: true)
    let one = Self.retry(0, isUnaccepted: true)
    #expect(verdict(300, taken) == all)
    // libcurl may try the second of two addresses only now.
    #expect(verdict(299, taken) == nil)
    // One alone may be lost on its way.
    #expect(verdict(300, count: 1, taken) == one)
    // Nothing was answered since: the host is busy, or away.
    #expect(verdict(300, taken, since: Self.mark([1, 0], answers: 3)) == nil)
    #expect(verdict(300, taken, since: Self.mark([1, 0], answers: 2)) == all)
    // It has none of ours in its queue: they are tried one by one.
    let none = [Facts(all: 2, answers: 3, first: (0, Self.milliseconds(1))), Facts()]
    #expect(verdict(300, none, since: Self.mark([0, 0], answers: 3)) == one)
    // On this machine none takes long.
    var near = taken
    near[0].first?.connect = 100_000
    #expect(verdict(49, near) == nil)
    #expect(verdict(50, near) == all)
    // Far away, each takes its time.
    var far = taken
    far[0].first?.connect = Self.milliseconds(100)
    #expect(verdict(399, far) == nil)
    #expect(verdict(400, far) == all)
    // No connection has come up yet.
    #expect(verdict(900, [Facts(all: 2, answers: 3)]) == nil)
  }

  /// A short wait says nothing, and what is short the host itself says.
  @Test(arguments: [(1, 49, false), (1, 50, true), (12, 50, true), (50, 199, false), (50, 200, true)])
  func patience(firstAnswer: UInt64, wait: UInt64, isLong: Bool) {
    let facts = Self.facts([0], [3], first: Self.milliseconds(firstAnswer))
    let verdict = Rule.judge(.init(all: Self.milliseconds(wait)), facts, since: Self.mark([3], wasIdle: true), .init())
    #expect((verdict != nil) == isLong)
  }

  /// The list goes on meanwhile, so none is idle: but many are answered, and none of them over a new
  /// connection.
  @Test(arguments: [(12, [1, 2], true), (11, [1, 2], false), (12, [1, 1], false)])
  func othersAreAnswered(answers: Int, before: [Int], isOdd: Bool) {
    let facts = Self.facts([1, 2], [0, 0], answers: 100 + answers)
    let mark = Self.mark(before, answers: 100)
    let verdict = Rule.judge(.init(all: Self.milliseconds(60)), facts, since: mark, .init())
    #expect(verdict == (isOdd ? Self.retry(1, isIdle: false) : nil))
  }

  /// Three long downloads have the three workers: who waits for one is given back before that is called a
  /// stall.
  @Test func longDownloads() {
    let (wait, mark) = (Self.milliseconds(15_000), Self.mark([3]))
    let busy = Self.facts([3], [0])
    #expect(Rule.judge(.init(all: wait), longest: wait, busy, since: mark, .init()) == Self.limit([3]))
    #expect(Rule.judge(.init(all: wait - 1), longest: wait, busy, since: mark, .init()) == nil)
    // No request is served: it is the server, and a stall.
    #expect(Rule.judge(.init(all: wait), longest: wait, Self.facts([0], [0]), since: mark, .init()) == nil)
  }

  /// Two that were answered quickly where others are answered: it is the connections. One that was not: it is
  /// the pages.
  @Test func whatTrialsSay() {
    var trials = HostHealth.Trials(pending: 2)
    trials.ended(waited: Self.milliseconds(40), answered: Self.milliseconds(2))
    #expect(trials == HostHealth.Trials(pending: 1, successes: 1))
    trials.ended(waited: Self.milliseconds(40), answered: Self.milliseconds(19))
    #expect(trials == HostHealth.Trials(successes: 2))
    let facts = Self.facts([1, 0], [0, 2])
    let mark = Self.mark([1, 2], wasIdle: true)
    #expect(
      Rule.judge(.init(all: Self.milliseconds(51)), facts, since: mark, trials) == Self.limit([1, 2]))

    var slow = HostHealth.Trials(pending: 1)
    slow.ended(waited: Self.milliseconds(40), answered: Self.milliseconds(20))
    #expect(slow == HostHealth.Trials(failures: 1))
    #expect(Rule.judge(.init(all: Self.milliseconds(399)), facts, since: mark, slow) == nil)
    #expect(Rule.judge(.init(all: Self.milliseconds(400)), facts, since: mark, slow) != nil)

    // Over a new connection, or not at all: nothing is learnt, and another one may be tried.
    var lost = HostHealth.Trials(pending: 1)
    lost.ended()
    #expect(lost == HostHealth.Trials())
  }

  struct Move: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var used: Set<String> = ["10.0.0.1"]
    var count = 1
    /// `nil` if the host stays where it is.
    let order: String?
  }

  static let moves = [
    Move(testDescription: "to the next", order: "10.0.0.2,[::1],10.0.0.1"),
    Move(
      testDescription: "behind all that are used", used: ["10.0.0.1", "10.0.0.2"], count: 2,
      order: "[::1],10.0.0.1,10.0.0.2"),
    Move(testDescription: "from the last to the first", used: ["::1"], order: "10.0.0.1,10.0.0.2,[::1]"),
    Move(testDescription: "all are in use", used: ["10.0.0.1", "10.0.0.2", "::1"], order: nil),
    Move(testDescription: "as often as there are addresses", count: 4, order: nil),
  ]

  @Test("the next address of a host whose rate has collapsed (HTTP rule 39)", arguments: moves)
  func nextAddress(_ row: Move) throws {
    var health = HostHealth()
    let known = ["10.0.0.1", "10.0.0.2", "::1"]
    let hasMoved = health.move(
      try Address("http://h.example:81/f"), among: known, besides: row.used, count: row.count)
    #expect(hasMoved == (row.order != nil))
    #expect(health.detours["h.example:81"] == row.order.map { "+h.example:81:\($0)" })
    health.keepRates(of: ["h.example:81"])
    #expect(health.detours.isEmpty == !hasMoved)
    health.keepRates(of: [])
    #expect(health.detours.isEmpty)
  }
}
