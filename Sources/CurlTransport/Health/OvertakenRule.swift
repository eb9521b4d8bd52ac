/// When a request on a new connection is left unanswered because other connections have the server's workers: decided
/// by what is known of its host (HTTP rule 38). Times are in nanoseconds.
/// A server that binds a worker to each connection lets further ones wait until a kept one is closed. A slow page looks
/// the same. So one such request is asked again on a connection that brings answers. If it is answered there in less
/// than half the time that it has waited, and a second one likewise, the connections are the reason.
enum OvertakenRule {
  struct Facts: Equatable {
    /// Connections that have brought an answer and have a transfer now.
    var busy = 0
    /// Connections that have brought an answer and have no transfer now.
    var idle = 0
    /// How many transfers have ended since the loop began to watch.
    var answers = 0
    /// The longest time that a first answer on a new connection took.
    var firstAnswer: UInt64 = 0
    /// Connections that are up, whether they have brought an answer or not; and all, with those that are not up yet.
    var taken = 0
    var all = 0
    /// The shortest time in which a connection came up; nil before one has brought an answer.
    var connect: UInt64?
  }

  /// The longest wait of all requests, and of those whose connections the host has not taken; and how many these are.
  struct Waits: Equatable {
    var all: UInt64 = 0
    var untaken: UInt64 = 0
    var untakenCount = 0

    mutating func add(_ wait: UInt64, isUntaken: Bool) {
      all = max(all, wait)
      if isUntaken {
        untaken = max(untaken, wait)
        untakenCount += 1
      }
    }
  }

  struct Mark: Equatable {
    var answering: [Int]
    var answers: Int
    var wasIdle = false
  }

  struct Trials: Equatable {
    var pending = 0
    var successes = 0
    var failures = 0

    /// - Parameter answered: how long its answer took on another connection; nil if there was none, or on a new one.
    mutating func ended(waited: UInt64 = 0, answered: UInt64? = nil) {
      pending = max(0, pending - 1)
      guard let answered else { return }
      if answered < waited / 2 { successes += 1 } else { failures += 1 }
    }
  }

  enum Verdict: Equatable {
    case wait
    /// Ask one request again, of all that wait or of those whose connections are not taken, on that loop, which has a
    /// connection for it now, or as soon as a transfer ends.
    case tryOne(loop: Int, isIdle: Bool, isUntaken: Bool = false)
    /// Return all that wait to the queue, or those whose connections are not taken: the host answers on so many
    /// connections at a time, or takes so many, by loop.
    case giveBack([Int], isUntaken: Bool = false)
  }

  /// Shorter waits mean nothing: the machine or a disk may be busy.
  static let leastWait: UInt64 = 50_000_000
  private static let aSecond: UInt64 = 1_000_000_000
  /// How long a connection may take where the fastest took so long. Within a millisecond only this machine and its
  /// neighbours answer. Else longer than libcurl waits before it tries a name's next address (200 ms).
  private static func patience(afterConnect time: UInt64) -> UInt64 {
    max(min(max(leastWait, time &* 300), 300_000_000), time &* 4)
  }
  private static let trials = 2

  /// What was not sent is not asked twice. A server that is slow to accept connections (Python's queue holds five)
  /// drops the next, which the kernel tries after 1 s, 3 s and 7 s. One alone, or all, may only have lost a packet.
  /// - Parameter longest: a wait close to a stall: no retry should be spent then while the host is busy with others.
  static func judge(
    _ waits: Waits, longest: UInt64 = .max, _ facts: [Facts], since mark: Mark?, _ trials: Trials
  ) -> Verdict {
    let wait = waits.all
    let idleLoop = mark?.wasIdle == true ? facts.firstIndex { $0.idle > 0 } : nil
    let isTaken = facts.contains { $0.taken > 0 }
    if let connect = facts.compactMap(\.connect).min(), waits.untaken >= patience(afterConnect: connect),
      idleLoop != nil || !isTaken || facts.answers > mark?.answers ?? 0
    {
      if waits.untakenCount == 1 || !isTaken {
        return .tryOne(loop: idleLoop ?? facts.bestLoop, isIdle: true, isUntaken: true)
      }
      // A server of many threads has taken and answered others meanwhile.
      return .giveBack(facts.map { max($0.taken, $0.all / 2) }, isUntaken: true)
    }
    if wait >= longest, facts.contains(where: { $0.busy > 0 }) { return .giveBack(facts.answering) }
    let isKnown = trials.successes >= self.trials && trials.successes > trials.failures
    let firstAnswer = facts.map(\.firstAnswer).max() ?? 0
    // If the reason is known already, the time of a first answer may itself have been such a wait.
    let patience =
      isKnown ? leastWait : max(leastWait, firstAnswer &* 4) << UInt64(3 * min(trials.failures, 4))
    let answering = facts.answering.reduce(0, +)
    guard answering > 0, wait >= patience else { return .wait }
    if isKnown { return .giveBack(facts.answering) }
    // A trial without a result is not waited for without limit.
    guard trials.pending < self.trials + Int(wait / aSecond) else { return .wait }
    if let idleLoop { return .tryOne(loop: idleLoop, isIdle: true) }
    // Many other requests were answered, none of them on a new connection.
    guard let mark, mark.answering == facts.answering, facts.answers - mark.answers >= max(8, 4 * answering)
    else { return .wait }
    return .tryOne(loop: facts.bestLoop, isIdle: false)
  }
}

extension [OvertakenRule.Facts] {
  var answering: [Int] { map { $0.busy + $0.idle } }
  var bestLoop: Int { indices.max { answering[$0] < answering[$1] } ?? 0 }
  var answers: Int { reduce(0) { $0 + $1.answers } }
}
