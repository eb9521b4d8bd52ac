import DownloadModel

/// What one loop knows about the health of its hosts, and the verdicts on it: whether a host leaves requests unanswered
/// because other connections occupy its workers (HTTP rule 38), and whether its rate has collapsed (HTTP rule 39).
/// `CurlAgent` reports what happened and carries the verdicts out. Pure; times are in nanoseconds.
///
/// A server that binds a worker to each connection lets further connections wait until a kept one is closed. A slow
/// page looks the same. So one such request is retried on a connection that delivers answers. If it is answered there
/// in less than half the time that it had waited, and a second one likewise, the connections are the reason.
struct HostHealth {
  /// A host as one loop sees it.
  struct Facts {
    /// Connections that have delivered an answer and have a transfer now.
    var busy = 0
    /// Connections that have delivered an answer and have no transfer now.
    var idle = 0
    /// Established connections, answered or not; and all connections, including those not yet established.
    var accepted = 0
    var all = 0
    /// Transfers that have ended since the loop began to watch.
    var answers = 0
    /// `nil` before a connection has delivered an answer.
    var first: FirstAnswers?
  }

  /// The longest time until the first answer of a connection, and the shortest in which one was established.
  typealias FirstAnswers = (longest: UInt64, connect: UInt64)

  /// The longest wait of all requests; the longest of those whose connections the host has not accepted; and their
  /// number.
  struct Waits {
    var all: UInt64 = 0
    var unaccepted: UInt64 = 0
    var unacceptedCount = 0

    mutating func add(_ wait: UInt64, isUnaccepted: Bool) {
      all = max(all, wait)
      if isUnaccepted {
        unaccepted = max(unaccepted, wait)
        unacceptedCount += 1
      }
    }
  }

  /// A host at the last verdict.
  struct Mark {
    var answering: [Int]
    var answers: Int
    var wasIdle = false
  }

  /// The requests of all loops to one host that were retried on a connection that delivers answers.
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

  /// The remedy is `.retry` for the request that has waited longest, or `.limit` for all waiting requests.
  struct Verdict: Equatable {
    let remedy: HostNews.Remedy
    /// Whether it concerns the requests whose connections are not accepted.
    var isUnaccepted = false
  }

  /// Whether a request of this loop waits for the first answer of its connection.
  private(set) var isWatching = false
  /// Whether a judgement waits for facts of other loops.
  var isJudging = false
  /// Hosts that leave requests of this loop unanswered.
  var marks: [String: Mark] = [:]
  /// While it watches.
  private(set) var answers: [String: Int] = [:]
  private(set) var firstAnswers: [String: FirstAnswers] = [:]
  var paces: [String: HostPace] = [:]
  /// For CURLOPT_RESOLVE: other address orders of hosts whose first address has collapsed.
  private(set) var detours: [String: String] = [:]

  /// The most hosts whose first answer is remembered, so that memory does not grow with their number.
  private static let mostHosts = 1024
  /// Shorter waits mean nothing: this machine or a disk may be busy.
  static let leastWait: UInt64 = 50_000_000
  private static let trials = 2

  // MARK: Unanswered requests

  /// - Parameter hosts: those that leave requests of this loop unanswered.
  mutating func watch(_ isOn: Bool, _ hosts: some Collection<String>) {
    isWatching = isOn
    if !marks.isEmpty { marks = marks.filter { hosts.contains($0.key) } }
    if !isOn { answers = [:] }
  }

  mutating func count(_ host: String) { answers[host, default: 0] += 1 }

  /// Records the first answer of a connection, `time` after its start; it was established after `connect`.
  mutating func answered(_ host: String, after time: UInt64, connect: UInt64) {
    guard firstAnswers.count < Self.mostHosts || firstAnswers[host] != nil else { return }
    let known = firstAnswers[host] ?? (time, connect)
    firstAnswers[host] = (max(known.longest, time), min(known.connect, connect))
  }

  /// A request that was not sent can safely be retried. A server that is slow to accept connections (Python's queue
  /// holds five) drops the next, which the kernel retries after 1 s, 3 s and 7 s. If one alone waits, or all do, a
  /// packet may only have been lost.
  /// - Parameters:
  ///   - longest: a wait close to a stall: then no retry should be spent while the host is busy with other requests.
  ///   - facts: by loop.
  /// - Returns: `nil` to wait.
  mutating func judge(
    _ host: String, _ waits: Waits, longest: UInt64, _ facts: [Facts], _ trials: Trials
  ) -> Verdict? {
    let answering = facts.map { $0.busy + $0.idle }
    let answers = facts.reduce(0) { $0 + $1.answers }
    let mark = marks[host]
    // If another connection was answered, counting starts again.
    let since = mark?.answering == answering ? mark?.answers : nil
    marks[host] = Mark(answering: answering, answers: since ?? answers, wasIdle: facts.contains { $0.idle > 0 })

    let idleLoop = mark?.wasIdle == true ? facts.firstIndex { $0.idle > 0 } : nil
    let bestLoop = answering.indices.max { answering[$0] < answering[$1] } ?? 0
    let isAccepted = facts.contains { $0.accepted > 0 }
    if let connect = facts.compactMap(\.first?.connect).min(), waits.unaccepted >= Self.patience(afterConnect: connect),
      idleLoop != nil || !isAccepted || answers > mark?.answers ?? 0
    {
      if waits.unacceptedCount == 1 || !isAccepted {
        return Verdict(remedy: .retry(loop: idleLoop ?? bestLoop, isIdle: true), isUnaccepted: true)
      }
      // A server with many threads has accepted and answered others meanwhile.
      return Verdict(remedy: .limit(to: facts.map { max($0.accepted, $0.all / 2) }), isUnaccepted: true)
    }
    let limit = Verdict(remedy: .limit(to: answering))
    if waits.all >= longest, facts.contains(where: { $0.busy > 0 }) { return limit }
    let isKnown = trials.successes >= Self.trials && trials.successes > trials.failures
    let firstAnswer = facts.compactMap(\.first?.longest).max() ?? 0
    // If the reason is known, the time of a first answer may itself have been such a wait.
    let patience =
      isKnown ? Self.leastWait : max(Self.leastWait, firstAnswer &* 4) << UInt64(3 * min(trials.failures, 4))
    let count = answering.reduce(0, +)
    guard count > 0, waits.all >= patience else { return nil }
    if isKnown { return limit }
    // The wait for a trial without a result is limited.
    guard trials.pending < Self.trials + Int(waits.all / 1_000_000_000) else { return nil }
    if let idleLoop { return Verdict(remedy: .retry(loop: idleLoop, isIdle: true)) }
    // Many other requests were answered, none of them on a new connection.
    guard let since, answers - since >= max(8, 4 * count) else { return nil }
    return Verdict(remedy: .retry(loop: bestLoop, isIdle: false))
  }

  /// How long a connection may take, given the time of the fastest. Within a millisecond, only this machine and its
  /// neighbours answer. Other hosts get more time than libcurl waits before it tries a name's next address (200 ms).
  private static func patience(afterConnect time: UInt64) -> UInt64 {
    max(min(max(leastWait, time &* 300), 300_000_000), time &* 4)
  }

  // MARK: Collapsed rates

  /// - Parameter hosts: those with a transfer; the rates of others are forgotten.
  mutating func keepRates(of hosts: some Collection<String>) {
    paces = paces.filter { hosts.contains($0.key) }
    detours = detours.filter { hosts.contains($0.key) }
  }

  /// Chooses a host's next address.
  /// - Parameters:
  ///   - known: its addresses, in the system's order.
  ///   - used: those of its transfers.
  ///   - count: how often the host has moved, this time included.
  /// - Returns: false if all were tried; its rate is then judged from the start.
  mutating func move(_ place: Address, among known: [String], besides used: Set<String>, count: Int) -> Bool {
    guard count <= known.count, !used.isSuperset(of: known) else {
      paces[place.hostAndPort] = HostPace()
      return false
    }
    let next = (known.lastIndex(where: used.contains) ?? -1) + 1
    let order = (known[next...] + known[..<next]).map { $0.contains(":") ? "[\($0)]" : $0 }
    detours[place.hostAndPort] = "+\(place.host):\(place.port):" + order.joined(separator: ",")
    return true
  }
}
