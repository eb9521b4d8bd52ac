import DownloadModel
import Synchronization

/// When a request on a new connection is left unanswered because other connections have the server's workers: decided
/// by what is known of its host (HTTP rule 38). No clock; times are in nanoseconds.
///
/// A server that binds a worker to each connection (Apache's prefork, a proxy with a limit) answers on the connections
/// that came first, keeps them, and lets further ones wait until a kept one is closed. A slow page looks the same. So
/// first one such request is asked again on a connection that is known to bring answers. If it is answered there in
/// less than half the time that it has waited, and a second one likewise, the connections are the reason. Otherwise the
/// pages are slow, and nothing is concluded about that host.
enum OvertakenRule {
  /// What all loops together know of a host.
  struct Facts: Equatable {
    /// Connections that have brought an answer and have a transfer now, by loop.
    var busy: [Int] = []
    /// Connections that have brought an answer and have no transfer now, by loop.
    var idle: [Int] = []
    /// How many transfers have ended since a loop began to watch.
    var answers = 0
    /// The longest time that a first answer on a new connection took.
    var firstAnswer: UInt64 = 0

    var isIdle: Bool { idle.contains { $0 > 0 } }
    /// Connections over which the host answers, by loop.
    var answering: [Int] { zip(busy, idle).map(+) }
    /// The loop with the most of these connections.
    var bestLoop: Int { answering.indices.max { answering[$0] < answering[$1] } ?? 0 }

    /// Adds what one loop knows of the host, in the order of the loops.
    mutating func add(busy: Int, idle: Int, answers: Int, firstAnswer: UInt64) {
      self.busy.append(busy)
      self.idle.append(idle)
      self.answers += answers
      self.firstAnswer = max(self.firstAnswer, firstAnswer)
    }
  }

  /// What was known when a request was first seen to wait long.
  struct Mark: Equatable {
    var answering: [Int]
    var answers: Int
    var wasIdle: Bool
  }

  /// The results of requests that were asked again.
  struct Trials: Equatable {
    var pending = 0
    var successes = 0
    var failures = 0

    /// - Parameters:
    ///   - waited: how long it was unanswered on its own connection.
    ///   - answered: how long its answer took on another; nil if there was none, or on a new one.
    mutating func ended(waited: UInt64 = 0, answered: UInt64? = nil) {
      pending = max(0, pending - 1)
      guard let answered else { return }
      if answered < waited / 2 { successes += 1 } else { failures += 1 }
    }
  }

  enum Verdict: Equatable {
    case wait
    /// Ask one request again on that loop, which has a connection for it now, or as soon as a transfer ends.
    case tryOne(loop: Int, isIdle: Bool)
    /// Return all that wait to the queue: the host answers on so many connections at a time, by loop.
    case giveBack(answering: [Int])
    /// Give the request whose connection does not come up to that loop, which has one that is idle.
    case move(loop: Int)
  }

  /// Shorter waits mean nothing: the machine or a disk may be busy.
  static let leastWait: UInt64 = 50_000_000
  /// A near connection comes up in less, and a far one that lost its first packet is tried again after it.
  private static let longestConnect: UInt64 = 1_000_000_000
  private static let trials = 2
  private static let aSecond: UInt64 = 1_000_000_000

  private static func isKnown(_ trials: Trials) -> Bool {
    trials.successes >= self.trials && trials.successes > trials.failures
  }

  /// How long a request must wait before anything is concluded.
  private static func patience(_ facts: Facts, _ trials: Trials) -> UInt64 {
    // The reason is known already; and the time of a first answer may itself have been such a wait.
    if isKnown(trials) { return leastWait }
    return max(leastWait, facts.firstAnswer &* 4) << UInt64(3 * min(trials.failures, 4))
  }

  /// - Parameters:
  ///   - wait: of the request that has waited longest.
  ///   - unsent: the same of those whose connections are not up; 0 for none. Nothing was asked on those, so
  ///     nothing is asked twice, and no trial need show anything: trials fail on a machine that is busy, and
  ///     then a connection that nobody accepted was waited for until its timeout, beside idle ones.
  ///   - longest: a wait that is close to a stall: then no retry should be spent while the host is busy with
  ///     others.
  static func judge(
    wait: UInt64, unsent: UInt64 = 0, longest: UInt64 = .max, _ facts: Facts, since mark: Mark?, _ trials: Trials
  ) -> Verdict {
    if unsent >= longestConnect, mark?.wasIdle == true, let loop = facts.idle.firstIndex(where: { $0 > 0 }) {
      return .move(loop: loop)
    }
    if wait >= longest, facts.busy.contains(where: { $0 > 0 }) {
      return .giveBack(answering: facts.answering)
    }
    let answering = facts.answering.reduce(0, +)
    guard answering > 0, wait >= patience(facts, trials) else { return .wait }
    if isKnown(trials) { return .giveBack(answering: facts.answering) }
    // A trial without a result is not waited for without limit.
    guard trials.pending < self.trials + Int(wait / aSecond) else { return .wait }
    if let loop = facts.idle.firstIndex(where: { $0 > 0 }), mark?.wasIdle == true {
      return .tryOne(loop: loop, isIdle: true)
    }
    // Many other requests were answered, none of them on a new connection.
    guard let mark, mark.answering == facts.answering, facts.answers - mark.answers >= max(8, 4 * answering)
    else { return .wait }
    return .tryOne(loop: facts.bestLoop, isIdle: false)
  }
}

/// What one loop remembers of hosts while requests wait for the first answer of their connections.
struct UnansweredWatch {
  /// Whether any request waits like that.
  private(set) var isOn = false
  private var isJudging = false
  private var marks: [String: OvertakenRule.Mark] = [:]
  private var answers: [String: Int] = [:]
  private var firstAnswers: [String: UInt64] = [:]
  /// For how many hosts a first answer is remembered, so that memory does not grow with their number.
  private static let mostHosts = 1024

  /// - Parameter hosts: those of requests that have waited long.
  mutating func set(isOn: Bool, hosts: Set<String>) {
    self.isOn = isOn
    if !marks.isEmpty { marks = marks.filter { hosts.contains($0.key) } }
    if !isOn, !answers.isEmpty { answers = [:] }
  }

  /// - Returns: false while an earlier state is still being judged.
  mutating func begin() -> Bool {
    defer { isJudging = true }
    return !isJudging
  }

  mutating func end() { isJudging = false }

  /// A transfer to a host ended with an answer.
  mutating func count(_ host: String) { answers[host, default: 0] += 1 }

  /// A connection brought its first answer.
  /// - Parameter time: how long it took, in nanoseconds.
  mutating func answered(_ host: String, after time: UInt64) {
    guard firstAnswers.count < Self.mostHosts || firstAnswers[host] != nil else { return }
    firstAnswers[host] = max(firstAnswers[host] ?? 0, time)
  }

  func answers(of host: String) -> Int { answers[host] ?? 0 }
  func firstAnswer(of host: String) -> UInt64 { firstAnswers[host] ?? 0 }
  func mark(_ host: String) -> OvertakenRule.Mark? { marks[host] }

  /// Remembers what is known now, for a later comparison.
  mutating func see(_ host: String, _ facts: OvertakenRule.Facts) {
    // Another connection was answered, so counting begins again.
    guard let mark = marks[host], mark.answering == facts.answering else {
      marks[host] = OvertakenRule.Mark(answering: facts.answering, answers: facts.answers, wasIdle: facts.isIdle)
      return
    }
    marks[host]?.wasIdle = facts.isIdle
  }
}

/// The network loops of one run. Together they know what no single loop knows: on which connections a host answers. Its
/// lock is taken where something is unusual or a loop begins or ends, not for each file.
public final class TransportGroup: Sendable {
  private let state = Lock(State())
  /// How many loops have a request that waits for the first answer of its connection; only then answers are counted.
  private let watchers = Atomic<Int>(0)

  private struct State {
    var agents: [CurlAgent] = []
    var trials: [String: OvertakenRule.Trials] = [:]
  }

  public init() {}

  var isWatched: Bool { watchers.load(ordering: .relaxed) > 0 }

  func watch() { watchers.add(1, ordering: .relaxed) }
  func unwatch() { watchers.subtract(1, ordering: .relaxed) }

  var agents: [CurlAgent] { state.withLock { $0.agents } }

  func join(_ agent: CurlAgent) { state.withLock { $0.agents.append(agent) } }

  func leave(_ agent: CurlAgent) { state.withLock { $0.agents.removeAll { $0 === agent } } }

  func trials(at host: String) -> OvertakenRule.Trials {
    state.withLock { $0.trials[host] ?? OvertakenRule.Trials() }
  }

  func change(_ host: String, _ body: (inout OvertakenRule.Trials) -> Void) {
    state.withLock { body(&$0.trials[host, default: OvertakenRule.Trials()]) }
  }
}
