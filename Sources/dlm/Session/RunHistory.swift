import Comparing
import DownloadModel
import FileReceiving

/// A command of a folder, and what its run came to.
struct RunHistory: Equatable {
  let run: String
  let command: RememberedCommand
  /// Nil while a run is under way, and after one that says nothing about its mode (`RunReport.isThrough`).
  var last: PastRun?

  private static let most = 16

  /// What a folder's events come to, the newest last. Earlier runs are known too, because a void run gives way to the
  /// one before it, and several may be under way at once.
  static func all(_ events: [RunEvent]) -> [RunHistory] {
    var all: [RunHistory] = []
    for event in events {
      switch event {
      case .began(let run, var command):
        // A list that is taken again has lost its logins already.
        if let before = all.last?.command, before.sources == command.sources,
          before.withheld.contains(.addressLogins), !command.withheld.contains(.addressLogins)
        {
          command.withheld.append(.addressLogins)
        }
        all.append(RunHistory(run: run, command: command))
        if all.count > most { all.removeFirst() }
      case .ended(let run, let past):
        guard past.directory != nil, let index = all.lastIndex(where: { $0.run == run }) else { continue }
        var ended = all.remove(at: index)
        ended.last = past
        all.append(ended)
      case .void(let run): all.removeAll { $0.run == run }
      }
    }
    return all
  }

  /// Fewer events that come to the same: the newer half of the runs that fetched, and those whose times stand.
  static func fewer(_ events: [RunEvent]) -> [RunEvent] {
    let commands = Dictionary(all(events).map { ($0.run, $0.command) }) { $1 }
    let runs = events.compactMap(\.ended)
    let newest = runs.filter { $0.fetched > 0 }.suffix(runs.count { $0.fetched > 0 } / 2)
    var older = runs.count { $0.fetched > 0 } - newest.count
    let times = Dictionary(newest.map { ($0.listDigest, $0.listDigest) }) { $1 }.mapValues { RunTimes(runs, of: $0) }
    return events.compactMap { event in
      switch event {
      case .began(let run, _): return commands[run].map { .began(run: run, $0) }
      case .ended(let run, var past):
        let isStanding = times[past.listDigest]?[past.mode] == past
        if past.fetched > 0 { older -= 1 }
        let isNew = past.fetched > 0 && older < 0
        guard isStanding || isNew || run.map({ commands[$0] != nil }) ?? false else { return nil }
        if isStanding { past.isOfAll = true }
        return .ended(run: run, past)
      case .void: return nil
      }
    }
  }
}

/// One run of a folder that went through its list.
struct PastRun: Decodable, Equatable {
  enum Command: String, Decodable { case get, compare }

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
  /// How long it waited for a host that refused all its requests; nil for less than a twentieth of its time.
  var waited: Double?
  /// The seconds that all its files together were in flight; nil if unknown.
  var work: Double?
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

  /// How long its files take one after the other, at most: on connections that share a line each was slower than alone.
  var sequentialSeconds: Double {
    mode == .sequential ? seconds : max(seconds, work ?? seconds * Double(max(1, min(jobs, fetched))))
  }

  /// Why the times of both say nothing of their modes; nil if they do.
  func obstacle(to other: PastRun) -> Obstacle? {
    if mode.kind == other.mode.kind { return .sameStrategy }
    if !didSameWork(as: other) { return .otherWork }
    return waited == nil && other.waited == nil ? nil : .waited
  }

  enum Obstacle { case sameStrategy, otherWork, waited }

  func isLike(_ other: PastRun) -> Bool {
    mode == other.mode && adaptsJobs == other.adaptsJobs && (adaptsJobs || jobs == other.jobs)
      && didSameWork(as: other)
  }

  /// Whether it replaces an earlier run of its list and mode; one that fetched less did other work.
  func replaces(_ earlier: PastRun?) -> Bool {
    if isOfAll { return true }
    guard fetched > 0 else { return false }
    guard let earlier, fetched <= earlier.fetched else { return true }
    if waited != nil, earlier.waited == nil { return false }
    return transferredBytes >= earlier.transferredBytes
  }

  /// Numbers that a run can have: none takes longer than thirty years, or ends after the year 9999.
  var isPossible: Bool {
    1...(1 << 16) ~= jobs && 0...(1 << 50) ~= fetched && 0...(1 << 50) ~= failed && 0...(1 << 60) ~= transferredBytes
      && 0...1e9 ~= seconds && 0...253_402_300_799_999 ~= endedAt
  }

  private enum CodingKeys: String, CodingKey {
    case command, sources, mode, jobs, failed, seconds, waited, work, directory
    case adaptsJobs = "adapts", listDigest = "list", fetched = "files", transferredBytes = "bytes", endedAt = "at"
    case isOfAll = "all"
  }

  var json: JSONValue {
    let more: JSONFields = [
      "sources": sources, "directory": directory, "at": endedAt,
      "all": isOfAll,
    ]
    return JSONValue(fields.merging(more) { $1 })
  }

  /// For `dlm history --json`, too.
  var fields: JSONFields {
    [
      "command": command.rawValue, "mode": mode.rawValue, "jobs": jobs,
      "adapts": adaptsJobs, "files": fetched, "failed": failed,
      "bytes": transferredBytes, "seconds": seconds, "waited": waited, "work": work, "list": listDigest,
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

extension [PastRun] {
  /// Bytes a second of the newest run that was not too small to tell; nil for none.
  var lastRate: Double? {
    last { $0.transferredBytes >= 1 << 20 && $0.seconds > 0 }.map { Double($0.transferredBytes) / $0.seconds }
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
    /// Nil if the times can be compared.
    var obstacle: PastRun.Obstacle?
  }

  /// The newest run in another mode, a comparable one first; nil also for a run that fetched nothing.
  func comparison(for this: PastRun) -> Comparison? {
    guard this.fetched > 0 else { return nil }
    return runs.values.filter { $0.mode != this.mode }
      .map { Comparison(run: $0, obstacle: $0.obstacle(to: this)) }
      .max { ($0.obstacle == nil ? 1 : 0, $0.run.endedAt) < ($1.obstacle == nil ? 1 : 0, $1.run.endedAt) }
  }

  /// The fastest mode, and of those that did the same work sequential, else the slowest.
  var measured: (fast: PastRun, slow: PastRun)? {
    let all = runs.values.sorted { $0.seconds < $1.seconds }
    guard let fast = all.first else { return nil }
    let others = all.dropFirst().filter { $0.obstacle(to: fast) == nil }
    return (others.first { $0.mode == .sequential } ?? others.last).map { (fast, $0) }
  }
}
