import Comparing
import DownloadCaching
import DownloadModel

/// What the last `get` in a folder was.
struct RunHistory: Equatable {
  /// The working folder, absolute.
  var folder: String
  /// The command of the last run.
  var command: Command
  /// Nil while a run is under way, and after one that says nothing about its mode (`RunReport.isThrough`).
  var last: PastRun?

  /// What a run was asked for, as far as the next one may know it.
  struct Command: Equatable {
    /// Lists by their whole path, addresses without credentials.
    var sources: [String]
    /// As the user would type them; see `RememberedOptions`.
    var options: [String] = []
    var withheld: [Withheld] = []
    /// The output folder, absolute.
    var directory: String?
    var mode: DownloadMode?
  }
}

/// One run of a folder that went through its list.
struct PastRun: Equatable {
  enum Command: String { case get, compare }

  var command = Command.get
  /// The sources of its list, as the next command would name them; without credentials.
  var sources: [String] = []
  var mode: DownloadMode
  /// Whether `jobs` was the most, and the run found out what is good.
  var adaptsJobs = false
  var listDigest: String
  var jobs: Int
  /// Files whose bodies came over the network.
  var fetched: Int
  /// Files and lines of the list that came to nothing.
  var failed = 0
  /// The bytes of the fetched files that were not here before.
  var transferredBytes: Int64
  var seconds: Double
  /// In milliseconds since 1970.
  var endedAt: Int64
  /// Where its files stand, absolute and without links; nil where another run cannot be compared with them.
  var directory: String?
  /// Whether it fetched all files, whatever an earlier run did.
  var isOfAll = false

  /// Bytes a second over the network; nil where that is no time at all.
  var bytesPerSecond: Double? { seconds > 0 ? Double(transferredBytes) / seconds : nil }

  /// Whether both moved the same files; a run that found most of them unchanged measures something else. For files
  /// without a byte, this cannot tell whether they were fetched.
  func didSameWork(as other: PastRun) -> Bool {
    listDigest == other.listDigest && failed == other.failed && transferredBytes == other.transferredBytes
      && (transferredBytes > 0 || fetched == other.fetched)
  }

  /// Whether both measured the same: the same work in the same way.
  func isLike(_ other: PastRun) -> Bool {
    mode == other.mode && adaptsJobs == other.adaptsJobs && (adaptsJobs || jobs == other.jobs)
      && didSameWork(as: other)
  }

  /// Whether it takes the place of an earlier run of its list and mode. One that fetched nothing, or less, did other
  /// work, so the measured time stays.
  func replaces(_ earlier: PastRun?) -> Bool {
    if isOfAll { return true }
    guard fetched > 0 else { return false }
    guard let earlier, fetched <= earlier.fetched else { return true }
    return transferredBytes >= earlier.transferredBytes
  }
}

extension PastRun {
  /// The runs of a comparison, in the order of their rounds.
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

/// How long the modes took for one list: for each the run whose time stands for it.
struct RunTimes: Equatable {
  private var runs: [DownloadMode: PastRun] = [:]

  /// - Parameter all: of any list, in the order in which they ended.
  init(_ all: [PastRun], of listDigest: String) {
    for run in all where run.listDigest == listDigest && run.command == .get {
      if run.replaces(runs[run.mode]) { runs[run.mode] = run }
    }
  }

  subscript(mode: DownloadMode) -> PastRun? { runs[mode] }

  /// An earlier run in another mode.
  struct Comparison: Equatable {
    var run: PastRun
    /// Both moved the same files over the network.
    var isFair: Bool
  }

  /// The newest run in another mode; one that can be compared goes before one that cannot. Nil also for a run that
  /// fetched nothing, because it measures nothing.
  func comparison(for this: PastRun) -> Comparison? {
    guard this.fetched > 0 else { return nil }
    return runs.values.filter { $0.mode != this.mode }
      .map { Comparison(run: $0, isFair: $0.didSameWork(as: this)) }
      .max { ($0.isFair ? 1 : 0, $0.run.endedAt) < ($1.isFair ? 1 : 0, $1.run.endedAt) }
  }

  /// The known times without another run: the fastest mode, and sequential or the slowest, of those that did the same
  /// work.
  var measured: (fast: PastRun, slow: PastRun)? {
    let all = runs.values.sorted { $0.seconds < $1.seconds }
    guard let fast = all.first else { return nil }
    let others = all.dropFirst().filter { $0.didSameWork(as: fast) }
    return (others.first { $0.mode == .sequential } ?? others.last).map { (fast, $0) }
  }
}
