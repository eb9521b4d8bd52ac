import Comparing
import DownloadModel
import FileReceiving

/// One run of a folder that went through its list.
struct PastRun: Equatable {
  enum Command: String { case get, compare }

  var command = Command.get
  var sources: [String] = []
  var mode: DownloadMode
  /// Whether `jobs` is the most that the run found good.
  var adaptsJobs = false
  var listDigest: String
  var jobs: Int
  /// Whose bodies came over the network.
  var fetched: Int
  /// Files and lines that came to nothing.
  var failed = 0
  /// Of fetched files, without what was here before.
  var transferredBytes: Int64
  var seconds: Double
  /// In milliseconds since 1970.
  var endedAt: Int64
  /// Absolute and without links; nil where another run cannot be compared with its files.
  var directory: String?
  /// Whether it fetched every file, whatever earlier runs had fetched.
  var isOfAll = false

  var sizes: ExpectedSizes { ExpectedSizes(files: fetched, bytes: transferredBytes) }

  /// Whether both moved the same files. Files without a byte count only by number.
  func didSameWork(as other: PastRun) -> Bool {
    listDigest == other.listDigest && failed == other.failed && transferredBytes == other.transferredBytes
      && (transferredBytes > 0 || fetched == other.fetched)
  }

  func isLike(_ other: PastRun) -> Bool {
    mode == other.mode && adaptsJobs == other.adaptsJobs && (adaptsJobs || jobs == other.jobs)
      && didSameWork(as: other)
  }

  /// Whether it replaces an earlier run of its list and mode; one that fetched less did other work.
  func replaces(_ earlier: PastRun?) -> Bool {
    if isOfAll { return true }
    guard fetched > 0 else { return false }
    guard let earlier, fetched <= earlier.fetched else { return true }
    return transferredBytes >= earlier.transferredBytes
  }

  var fields: [String: JSONValue] {
    [
      "command": .text(command.rawValue), "mode": .text(mode.rawValue), "jobs": .of(jobs),
      "adapts": .flag(adaptsJobs), "files": .of(fetched), "failed": .of(failed),
      "bytes": .number(transferredBytes), "seconds": .decimal(seconds), "list": .text(listDigest),
    ]
  }

  static func all(
    of report: ComparisonReport, _ settings: Settings, sources: [String], listDigest: String
  ) -> [PastRun] {
    let endedAt = WallClock.milliseconds()
    return report.results.flatMap(\.runs).sorted { $0.round < $1.round }.map { run in
      PastRun(
        command: .compare, sources: sources, mode: run.mode.mode,
        adaptsJobs: run.mode.jobs == nil && settings.adaptsJobs && run.mode.mode != .sequential,
        listDigest: listDigest, jobs: run.mode.jobs ?? max(1, run.details.mostAtOnce), fetched: run.files,
        failed: report.leftOut.count, transferredBytes: run.bytes, seconds: run.wall / .seconds(1), endedAt: endedAt)
    }
  }
}

/// For each mode, the run whose time stands for it with one list.
struct RunTimes: Equatable {
  private var runs: [DownloadMode: PastRun] = [:]

  /// - Parameter all: runs of any list, in the order in which they ended.
  init(_ all: [PastRun], of listDigest: String) {
    for run in all where run.listDigest == listDigest && run.command == .get {
      if run.replaces(runs[run.mode]) { runs[run.mode] = run }
    }
  }

  subscript(mode: DownloadMode) -> PastRun? { runs[mode] }

  /// The run that fetched most.
  var most: PastRun? { runs.values.max { $0.transferredBytes < $1.transferredBytes } }

  struct Comparison: Equatable {
    var run: PastRun
    var isFair: Bool
  }

  /// The newest run in another mode, a comparable one first; nil also for a run that fetched nothing.
  func comparison(for this: PastRun) -> Comparison? {
    guard this.fetched > 0 else { return nil }
    return runs.values.filter { $0.mode != this.mode }
      .map { Comparison(run: $0, isFair: $0.didSameWork(as: this)) }
      .max { ($0.isFair ? 1 : 0, $0.run.endedAt) < ($1.isFair ? 1 : 0, $1.run.endedAt) }
  }

  /// The fastest mode, and of those that did the same work sequential, else the slowest.
  var measured: (fast: PastRun, slow: PastRun)? {
    let all = runs.values.sorted { $0.seconds < $1.seconds }
    guard let fast = all.first else { return nil }
    let others = all.dropFirst().filter { $0.didSameWork(as: fast) }
    return (others.first { $0.mode == .sequential } ?? others.last).map { (fast, $0) }
  }
}
