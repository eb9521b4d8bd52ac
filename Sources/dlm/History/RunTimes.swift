import DownloadModel

extension [PastRun] {
  /// Bytes a second of the newest run that was large enough to tell; `nil` for none.
  var lastRate: Double? {
    last { $0.transferredBytes >= 1 << 20 && $0.seconds > 0 }.map { Double($0.transferredBytes) / $0.seconds }
  }
}

/// For each mode, the run whose time represents it for one list.
struct RunTimes: Equatable {
  private var runs: [DownloadMode: PastRun] = [:]

  /// - Parameter all: runs of any list, in the order in which they ended.
  init(_ all: [PastRun], of listDigest: String) {
    for run in all where run.listDigest == listDigest && run.command == .get && run.replaces(runs[run.mode]) {
      runs[run.mode] = run
    }
  }

  subscript(mode: DownloadMode) -> PastRun? { runs[mode] }

  /// The run that downloaded most bytes.
  var most: PastRun? { runs.values.max { $0.transferredBytes < $1.transferredBytes } }

  struct Comparison: Equatable {
    var run: PastRun
    /// `nil` if the times can be compared.
    var obstacle: PastRun.Obstacle?
  }

  /// The newest run in another mode, a comparable one first; `nil` also for a run that downloaded nothing.
  func comparison(for this: PastRun) -> Comparison? {
    guard this.fetched > 0 else { return nil }
    return runs.values.filter { $0.mode != this.mode }
      .map { Comparison(run: $0, obstacle: $0.obstacle(to: this)) }
      .max { ($0.obstacle == nil ? 1 : 0, $0.run.endedAt) < ($1.obstacle == nil ? 1 : 0, $1.run.endedAt) }
  }

  /// The fastest mode; and, of those that did the same work, sequential, else the slowest.
  var measured: (fast: PastRun, slow: PastRun)? {
    let all = runs.values.sorted { $0.seconds < $1.seconds }
    guard let fast = all.first else { return nil }
    let others = all.dropFirst().filter { $0.obstacle(to: fast) == nil }
    return (others.first { $0.mode == .sequential } ?? others.last).map { (fast, $0) }
  }
}
