import DownloadCaching
import DownloadModel
import Glibc
import StrategyComparing
import SystemPackage

/// One run of a folder, as `dlm history` shows it.
struct PastRun: Equatable {
  enum Command: String { case get, compare }

  var command: Command
  /// The sources of its list, as the next command would name them; without credentials.
  var sources: [String]
  var mode: DownloadMode
  /// Whether `jobs` was the most, and the run found out what is good.
  var adaptsJobs: Bool
  var run: RunHistory.Run

  /// Bytes a second over the network; nil where that is no time at all.
  var bytesPerSecond: Double? { run.seconds > 0 ? Double(run.transferredBytes) / run.seconds : nil }

  /// Whether both measured the same: the same work in the same way.
  func isLike(_ other: PastRun) -> Bool {
    mode == other.mode && adaptsJobs == other.adaptsJobs && (adaptsJobs || run.jobs == other.run.jobs)
      && run.didSameWork(as: other.run)
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
        run: RunHistory.Run(
          listDigest: listDigest, jobs: run.mode.jobs ?? max(1, run.details.mostAtOnce), fetched: run.files,
          transferredBytes: run.bytes, seconds: run.wall / .seconds(1), endedAt: endedAt))
    }
  }
}

/// The runs of a folder in the order in which they ended, in a file beside its history, which only `dlm
/// history` reads. Runs that fetched nothing measure nothing, and are left out.
///
///     1 ran get list=5d41… mode=parallel jobs=16 adapts=yes fetched=36 … source=/home/a/urls.txt .
///
/// The lines are as in `RunEventLines`. Nothing is synced, and only this user can read it.
struct PastRuns {
  private let path: FilePath?

  /// A longer file is written anew with the newest half of its lines: some two hundred runs.
  static let longestFile = 64 << 10

  /// - Parameter path: nil where nothing is remembered.
  init(_ path: FilePath?) { self.path = path }

  /// The oldest first; none where there is no such file, or none that can be read.
  func load() -> [PastRun] { path.map { PastRunLines.runs(RunHistoryStore.bytes(of: $0)) } ?? [] }

  /// Adds runs, in one write.
  /// - Throws: Errno.
  func append(_ runs: [PastRun]) throws(Errno) {
    let runs = runs.filter { $0.run.fetched > 0 }
    guard let path, !runs.isEmpty else { return }
    let text = PastRunLines.text(runs)
    let lines = try HistoryFile.open(path, lock: LOCK_SH)
    let size = lines.size
    let failure = lines.append(text)
    lines.close()
    if let failure { throw failure }
    if size + Int64(text.count) > Self.longestFile { try Self.shorten(path) }
  }

  private static func shorten(_ path: FilePath) throws(Errno) {
    let lines = try HistoryFile.open(path, lock: LOCK_EX)
    defer { lines.close() }
    // Another process may have done it meanwhile.
    guard lines.size > longestFile else { return }
    let runs = PastRunLines.runs(RunHistoryStore.bytes(of: path))
    var draft = try DraftFile(for: path)
    try draft.write(PastRunLines.text(Array(runs.suffix(runs.count / 2))))
    try draft.commit()
  }
}

/// Runs as text.
enum PastRunLines {
  static func text(_ runs: [PastRun]) -> [UInt8] {
    RunEventLines.text(
      runs.map { past in
        .ran(
          past.command.rawValue, past.mode, past.run, adaptsJobs: past.adaptsJobs, sources: past.sources)
      })
  }

  static func runs(_ text: [UInt8]) -> [PastRun] {
    RunEventLines.events(text).compactMap { event in
      guard case .ran(let word, let mode, let run, let adaptsJobs, let sources) = event,
        let command = PastRun.Command(rawValue: word)
      else { return nil }
      return PastRun(
        command: command, sources: sources, mode: mode, adaptsJobs: adaptsJobs, run: run)
    }
  }
}
