import DownloadModel
import RunDoors
import TerminalProgress

/// Runs as `dlm status` shows them.
extension RunStatus {
  static func all() -> [RunStatus] { records.map { $0.all().map { RunStatus($0) } } ?? [] }

  static var records: RunRecords? { XDGFolders().state.map { RunRecords(below: $0) } }

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
    case .failed: "dlm retry \(record.number)"
    case .silent: "process \(record.process.number)"
    default: nil
    }
  }

  /// The files in flight and those that have failed, indented.
  var files: [String] {
    let files = (snapshot?.active ?? []).map { file in
      "  \(file.url): \(Quantity.bytes(file.bytes))" + (file.total.map { " of \(Quantity.bytes($0))" } ?? "")
    }
    let more = snapshot.map { $0.more > 0 ? ["  and \(Quantity.count($0.more)) more"] : [] } ?? []
    let failures = snapshot?.failures ?? record.end?.failures ?? []
    return files + more + failures.map { "  failed: \($0.url): \($0.message)" }
  }

  var json: JSONValue { CacheJSON.object(fields) }
}
