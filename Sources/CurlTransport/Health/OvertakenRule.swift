/// Whether a request on a new connection is unanswered because other connections occupy the server's workers, decided
/// by the facts about its host (HTTP rule 38). Times are in nanoseconds.
///
/// A server that binds a worker to each connection lets further connections wait until a kept one is closed. A slow
/// page looks the same. So one such request is retried on a connection that delivers answers. If it is answered there
/// in less than half the time that it had waited, and a second one likewise, the connections are the reason.
enum OvertakenRule {
  struct Facts: Equatable {
    /// Connections that have delivered an answer and have a transfer now.
    var busy = 0
    /// Connections that have delivered an answer and have no transfer now.
    var idle = 0
    /// Transfers that have ended since the loop began to watch.
    var answers = 0
    /// The longest time until the first answer on a new connection.
    var firstAnswer: UInt64 = 0
    /// Established connections, answered or not; and all connections, including those not yet established.
    var taken = 0
    var all = 0
    /// The shortest time in which a connection was established; `nil` before one has delivered an answer.
    var connect: UInt64?
  }

  /// The longest wait of all requests; the longest of those whose connections the host has not accepted; and their
  /// number.
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

    /// - Parameter answered: the time of its answer on another connection; `nil` without an answer, or on a new
    ///   connection.
    mutating func ended(waited: UInt64 = 0, answered: UInt64? = nil) {
      pending = max(0, pending - 1)
      guard let answered else { return }
      if answered < waited / 2 { successes += 1 } else { failures += 1 }
    }
  }

  enum Verdict: Equatable {
    case wait
    /// Retry one waiting request, or one whose connection is not accepted, on `loop`, which has an idle connection now
    /// or after the next transfer.
    case tryOne(loop: Int, isIdle: Bool, isUntaken: Bool = false)
    /// Requeue all waiting requests, or those whose connections are not accepted. The numbers are the connections on
    /// which the host answers, or which it accepts, by loop.
    case giveBack([Int], isUntaken: Bool = false)
  }

  /// Shorter waits mean nothing: this machine or a disk may be busy.
  static let leastWait: UInt64 = 50_000_000
  private static let aSecond: UInt64 = 1_000_000_000
  /// How long a connection may take, given the time of the fastest. Within a millisecond, only this machine and its
  /// neighbours answer. Other hosts get more time than libcurl waits before it tries a name's next address (200 ms).
  private static func patience(afterConnect time: UInt64) -> UInt64 {
    max(min(max(leastWait, time &* 300), 300_000_000), time &* 4)
  }
  private static let trials = 2

  /// A request that was not sent can safely be retried. A server that is slow to accept connections (Python's queue
  /// holds five) drops the next, which the kernel retries after 1 s, 3 s and 7 s. If one alone waits, or all do, a
  /// packet may only have been lost.
  /// - Parameter longest: a wait close to a stall: then no retry should be spent while the host is busy with other
  ///   requests.
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
      // A server with many threads has accepted and answered others meanwhile.
      return .giveBack(facts.map { max($0.taken, $0.all / 2) }, isUntaken: true)
    }
    if wait >= longest, facts.contains(where: { $0.busy > 0 }) { return .giveBack(facts.answering) }
    let isKnown = trials.successes >= self.trials && trials.successes > trials.failures
    let firstAnswer = facts.map(\.firstAnswer).max() ?? 0
    // If the reason is known, the time of a first answer may itself have been such a wait.
    let patience =
      isKnown ? leastWait : max(leastWait, firstAnswer &* 4) << UInt64(3 * min(trials.failures, 4))
    let answering = facts.answering.reduce(0, +)
    guard answering > 0, wait >= patience else { return .wait }
    if isKnown { return .giveBack(facts.answering) }
    // The wait for a trial without a result is limited.
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
