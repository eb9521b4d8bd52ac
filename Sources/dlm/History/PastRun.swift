import Comparing
import DownloadModel
import FileReceiving

/// One completed run of a folder's list.
struct PastRun: Decodable, Equatable {
  enum Command: String, Decodable { case get, compare }

  var command = Command.get
  var sources: [String] = []
  var mode: DownloadMode
  /// Whether `jobs` is the highest number that the run found good.
  var adaptsJobs = false
  var listDigest: String
  var jobs: Int
  /// Files whose bodies were downloaded.
  var fetched: Int
  /// Failed files, and rejected lines.
  var failed = 0
  /// Of downloaded files, without bytes that existed before.
  var transferredBytes: Int64
  var seconds: Double
  /// How long it waited for a host that refused all its requests; `nil` if less than a twentieth of its time.
  var waited: Double?
  /// The seconds that all its files together were in flight; nil if unknown.
  var work: Double?
  /// In milliseconds since 1970.
  var endedAt: Int64
  /// Absolute and without links; `nil` if another run cannot be compared with its files.
  var directory: String?
  /// Whether it downloaded every file, regardless of earlier runs.
  var isOfAll = false

  var sizes: ExpectedSizes { ExpectedSizes(files: fetched, bytes: transferredBytes) }

  /// Whether both moved the same files. Empty files count only by number.
  func didSameWork(as other: PastRun) -> Bool {
    listDigest == other.listDigest && failed == other.failed && transferredBytes == other.transferredBytes
      && (transferredBytes > 0 || fetched == other.fetched)
  }

  /// An upper bound for its sequential time: on connections that share a link, each file was slower than alone.
  var sequentialSeconds: Double {
    mode == .sequential ? seconds : max(seconds, work ?? seconds * Double(max(1, min(jobs, fetched))))
  }

  /// Why the times of both say nothing about their modes; `nil` if they do.
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

  /// Whether it replaces an earlier run of its list and mode; one that downloaded less did other work.
  func replaces(_ earlier: PastRun?) -> Bool {
    if isOfAll { return true }
    guard fetched > 0 else { return false }
    guard let earlier, fetched <= earlier.fetched else { return true }
    if waited != nil, earlier.waited == nil { return false }
    return transferredBytes >= earlier.transferredBytes
  }

  /// Plausible numbers: no run takes longer than thirty years, or ends after the year 9999.
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

  /// Also for `dlm history --json`.
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
