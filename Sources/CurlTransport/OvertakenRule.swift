/// When a request over a new connection is left unanswered because others have the server's workers: a function of what is
/// known of its host (http.md 38). No clock; times are nanoseconds.
///
/// A server that binds a worker to each connection (Apache's prefork, a proxy with a limit) answers over the connections
/// that came first, keeps them, and lets further ones wait until a kept one is closed. A slow page looks the same. So
/// first one such request is asked again over a connection that is known to bring answers. If it is answered there in less
/// than half the time that it has waited, and another one likewise, it is the connections; else it is the pages, and
/// nothing is concluded of that host any more.
enum OvertakenRule {
  /// What all loops together know of a host.
  struct Facts: Equatable {
    /// Connections that have brought an answer and have a transfer now, by loop.
    var busy: [Int] = []
    /// The same without a transfer.
    var idle: [Int] = []
    /// Transfers that ended since somebody began to watch.
    var answers = 0
    /// The longest that a first answer over a new connection took.
    var firstAnswer: UInt64 = 0

    var isIdle: Bool { idle.contains { $0 > 0 } }
    /// Connections over which the host answers, by loop.
    var answering: [Int] { zip(busy, idle).map(+) }
    /// The loop with the most of them.
    var bestLoop: Int { answering.indices.max { answering[$0] < answering[$1] } ?? 0 }
  }

  /// What was known when a request was first seen to be waiting for long.
  struct Mark: Equatable {
    var answering: [Int]
    var answers: Int
    var wasIdle: Bool
  }

  /// What came of requests that were asked again.
  struct Trials: Equatable {
    var pending = 0
    var successes = 0
    var failures = 0

    /// - Parameters:
    ///   - waited: for how long it had no answer over a connection of its own.
    ///   - answered: what its answer took over another; nil if there was none, or over a new one.
    mutating func ended(waited: UInt64 = 0, answered: UInt64? = nil) {
      pending = max(0, pending - 1)
      guard let answered else { return }
      if answered < waited / 2 { successes += 1 } else { failures += 1 }
    }
  }

  enum Verdict: Equatable {
    case wait
    /// One is asked again on that loop, which has a connection for it now, or as soon as a transfer ends.
    case tryOne(loop: Int, isIdle: Bool)
    /// All are given back: the host answers over so many connections at a time, by loop.
    case giveBack(answering: [Int])
  }

  /// Shorter waits say nothing: a busy machine, a disk.
  static let leastWait: UInt64 = 50_000_000
  private static let trials = 2
  private static let aSecond: UInt64 = 1_000_000_000

  private static func isKnown(_ trials: Trials) -> Bool {
    trials.successes >= self.trials && trials.successes > trials.failures
  }

  /// How long a request waits at the least before anything is concluded from that.
  private static func patience(_ facts: Facts, _ trials: Trials) -> UInt64 {
    // Known already; and what a first answer took may have been such a wait.
    if isKnown(trials) { return leastWait }
    return max(leastWait, facts.firstAnswer &* 4) << UInt64(3 * min(trials.failures, 4))
  }

  /// - Parameters:
  ///   - wait: of the request that has waited longest.
  ///   - longest: what comes near to a stall: no retry is to be spent on it while the host is busy with others.
  static func judge(
    wait: UInt64, longest: UInt64 = .max, _ facts: Facts, since mark: Mark?, _ trials: Trials
  ) -> Verdict {
    if wait >= longest, facts.busy.contains(where: { $0 > 0 }) {
      return .giveBack(answering: facts.answering)
    }
    let answering = facts.answering.reduce(0, +)
    guard answering > 0, wait >= patience(facts, trials) else { return .wait }
    if isKnown(trials) { return .giveBack(answering: facts.answering) }
    // One of which nothing is heard any more is not waited for either.
    guard trials.pending < self.trials + Int(wait / aSecond) else { return .wait }
    if let loop = facts.idle.firstIndex(where: { $0 > 0 }), mark?.wasIdle == true {
      return .tryOne(loop: loop, isIdle: true)
    }
    // Many others were answered, none of them over a new connection.
    guard let mark, mark.answering == facts.answering,
      facts.answers - mark.answers >= max(8, 4 * answering)
    else { return .wait }
    return .tryOne(loop: facts.bestLoop, isIdle: false)
  }
}

extension OvertakenRule.Facts {
  /// What one loop knows of the host, in the order of the loops.
  mutating func add(busy: Int, idle: Int, answers: Int, firstAnswer: UInt64) {
    self.busy.append(busy)
    self.idle.append(idle)
    self.answers += answers
    self.firstAnswer = max(self.firstAnswer, firstAnswer)
  }
}
