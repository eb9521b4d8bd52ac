import DownloadModel
import FoundationEssentials
import RunDoors
import SystemPackage
import TerminalProgress

/// A run of this user on this machine, as `dlm status` shows it.
struct RunStatus {
  let found: RunRecords.Found
  /// `nil` for a run that has ended or does not answer.
  let snapshot: RunSnapshot?

  private var record: RunRecord { found.record }

  /// How long a run may take to answer, in milliseconds: it may be stopped (SIGSTOP).
  private static let patience: Int32 = 2000

  static func all() -> [RunStatus] { records.map { $0.all().map(RunStatus.init) } ?? [] }

  static var records: RunRecords? { XDGFolders().state.map { RunRecords(below: $0) } }

  init(_ found: RunRecords.Found) {
    self.found = found
    snapshot = found.isAlive ? Self.ask(found.record) : nil
  }

  private static func ask(_ record: RunRecord) -> RunSnapshot? {
    guard let connection = try? connection(to: record), (try? connection.send(["id": 1, "do": "status"])) != nil else {
      return nil
    }
    while let line = try? connection.line(within: patience) {
      if let snapshot = try? JSONDecoder().decode(RunSnapshot.self, from: Data(line)) { return snapshot }
    }
    return nil
  }

  static func connection(to record: RunRecord) throws(Errno) -> DoorConnection {
    guard let door = record.door else { throw .noSuchFileOrDirectory }
    return try DoorConnection(to: FilePath(door))
  }

  var state: State {
    if found.isAlive { return snapshot.map { $0.isPaused ? .paused : .running } ?? .silent }
    guard let end = record.end else { return .died }
    if end.isHandedOver { return .handedOver }
    return end.status == 0 ? .done : end.status > 128 ? .stopped : .failed
  }

  enum State: String {
    case running, paused, done, failed, stopped, died
    case handedOver = "handed over"
    /// It does not answer, or has just begun.
    case silent = "does not answer"
  }

  // MARK: Shown

  /// One line each: `3  running  urls.txt  12 of 40 files, 30 %, 1.2 MiB/s, 2 min left, into /data`
  static func lines(_ runs: [RunStatus]) -> [String] {
    let rows = runs.map(\.columns)
    let widths = (0..<3).map { column in (rows.map { CellWidth.of($0[column]) }.max() ?? 0) + 2 }
    return TextColumns.lines(rows, widths + [0])
  }

  private var columns: [String] {
    let all = [progress, remark, "into \(record.directory)"].compactMap(\.self).joined(separator: ", ")
    return ["\(record.number)", state.rawValue, record.list, all]
  }

  private var progress: String? {
    guard let snapshot else { return record.end.map { files($0.done, failed: $0.failed, bytes: $0.bytes) } }
    let bound = snapshot.listIsComplete ? "" : "at least "
    let count = "\(Quantity.count(snapshot.done)) of \(bound)\(Quantity.files(snapshot.listed))"
    let percent = snapshot.fraction.map { "\(Int($0 * 100)) %" }
    let failed = snapshot.failed > 0 ? "\(Quantity.count(snapshot.failed)) failed" : nil
    let rate = snapshot.isPaused ? nil : Quantity.rate(Double(snapshot.rate))
    let left = snapshot.isPaused ? nil : snapshot.secondsLeft.map { "\(RepeatMessages.rounded($0)) left" }
    let parts = [count, failed, percent, Quantity.bytes(snapshot.bytes), rate, left]
    return parts.compactMap(\.self).joined(separator: ", ")
  }

  private func files(_ done: Int, failed: Int, bytes: Int64) -> String {
    "\(Quantity.files(done)), \(Quantity.bytes(bytes))" + (failed > 0 ? ", \(Quantity.count(failed)) failed" : "")
  }

  private var remark: String? {
    switch state {
    case .died where record.process.isOfEarlierBoot: "the machine was restarted: dlm resume \(record.number)"
    case .died, .stopped: "dlm resume \(record.number)"
    case .silent: "process \(record.process.number)"
    default: nil
    }
  }

  /// The files in flight, indented.
  var files: [String] {
    guard let snapshot else { return [] }
    let files = snapshot.active.map { file in
      "  \(file.url): \(Quantity.bytes(file.bytes))" + (file.total.map { " of \(Quantity.bytes($0))" } ?? "")
    }
    return files + (snapshot.more > 0 ? ["  and \(Quantity.count(snapshot.more)) more"] : [])
  }

  var json: JSONValue {
    let own: JSONFields = [
      "run": record.number, "state": "\(state)", "process": record.process.number, "directory": record.directory,
      "list": record.list, "detached": record.isDetached, "beganAt": record.beganAt, "endedAt": record.end?.at,
      "status": record.end.map { Int($0.status) }, "door": record.door,
    ]
    let ended: JSONFields = record.end.map { ["done": $0.done, "failed": $0.failed, "bytes": $0.bytes] } ?? [:]
    return CacheJSON.object(own.merging(snapshot?.fields ?? ended) { $1 })
  }
}
