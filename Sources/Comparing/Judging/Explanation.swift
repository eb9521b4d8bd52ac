import DownloadModel

/// Reasons for the results of the modes, as far as their runs show them.
package enum Explanation: Sendable, Equatable {
  /// Sequentially, this fraction of the files' time is spent waiting, and the rest receiving at the rate of one
  /// connection. In parallel, the waits overlap, and each connection adds its own rate.
  case sideBySide(waiting: Double, bytesPerConnection: Double)
  /// More files at a time receive no more bytes: the network or the server limits the rate.
  case sharedLine(bytesPerSecond: Double)
  /// More files at a time wait longer for their answers: the server answers about this many at a time.
  case busyServer(answers: Int)
  /// In parallel, a file waits this much longer for its connection, on average: the server accepts few at a time.
  case slowConnecting(perFile: Duration)
  /// A host was found to accept no more connections at a time.
  case hostLimit(host: String, connections: Int)

  /// - Returns: the cause of the gain, then its limit; empty if the runs do not show them.
  package static func all(_ report: ComparisonReport) -> [Explanation] {
    guard let conclusion = report.conclusion, let narrow = report.result(of: .sequential),
      let wide = report.results.filter({ $0.mode != .sequential }).min(by: { $0.times.median < $1.times.median }),
      let one = Facts(narrow), let many = Facts(wide)
    else { return [] }
    var all: [Explanation] = []
    if !conclusion.certainty.hasNoWinner, conclusion.winner != .sequential {
      all.append(.sideBySide(waiting: one.waitingShare, bytesPerConnection: one.bytesPerConnection))
    }
    let limits = wide.runs.flatMap(\.details.hostLimits).filter { $0.value < many.mostAtOnce }
    if let limit = limits.min(by: { ($0.value, $0.key) < ($1.value, $1.key) }) {
      all.append(.hostLimit(host: limit.key, connections: limit.value))
    } else if let limit = limit(one, many, wide) {
      all.append(limit)
    }
    return all
  }

  /// The reason why `many` gains less than its number of files at a time.
  private static func limit(_ one: Facts, _ many: Facts, _ wide: ModeResult) -> Explanation? {
    let gain = one.wall / many.wall
    guard many.mostAtOnce > 1 else { return nil }
    // Seventeen files, sixteen at a time, take twice as long as one.
    let rounds = (one.files + many.mostAtOnce - 1) / many.mostAtOnce
    guard gain < 0.6 * Double(one.files) / Double(rounds) else { return nil }
    let connecting = many.excess(over: one, \.connecting)
    let waiting = many.excess(over: one, \.waiting)
    let receiving = many.receiving - one.receiving
    guard max(connecting, waiting, receiving) > one.perFile * 0.5 else { return nil }
    if connecting > max(waiting, receiving) { return .slowConnecting(perFile: connecting) }
    if waiting > receiving { return .busyServer(answers: max(1, Int(gain.rounded()))) }
    return receiving > waiting ? wide.bytesPerSecond.map { .sharedLine(bytesPerSecond: $0) } : nil
  }

  private struct Facts {
    let wall: Duration
    let files: Int
    let mostAtOnce: Int
    /// Average of a file.
    let (receiving, perFile): (Duration, Duration)
    /// By whether a connection was opened for them.
    private let transfers: [Bool: [TransferTimes]]
    let waitingShare: Double
    let bytesPerConnection: Double

    init?(_ result: ModeResult) {
      let run = result.medianRun
      let timelines = FileTimeline.all(run.details)
      guard !timelines.isEmpty, run.wall > .zero else { return nil }
      let shares = TimeShares(timelines)
      wall = run.wall
      files = timelines.count
      mostAtOnce = run.details.mostAtOnce
      receiving = shares[.receiving] / files
      perFile = shares.ofFiles / files
      let waiting = shares[.lookingUp] + shares[.connecting] + shares[.securing] + shares[.waiting]
      waitingShare = perFile > .zero ? waiting / files / perFile : 0
      let whole = run.details.transfers.filter { !$0.isSegment }
      transfers = Dictionary(grouping: whole) { $0.connected != nil }
      let seconds = shares[.receiving] / .seconds(1)
      bytesPerConnection = seconds > 0 ? Double(timelines.reduce(0) { $0 + $1.bytes }) / seconds : 0
    }

    /// The extra time of a file compared with the answer times of the other run. First answers of connections are
    /// compared with first answers: they take longer on any server, and many connections have many of them.
    func excess(over other: Facts, _ time: (TransferTimes) -> Duration) -> Duration {
      transfers.reduce(.zero) { sum, group in
        let others = other.transfers[group.key] ?? []
        let usual = others.map(time).reduce(.zero, +) / max(1, others.count)
        return group.value.reduce(sum) { $0 + time($1) - usual }
      } / files
    }
  }
}
