import DownloadModel
import RunDoors
import SystemPackage

/// A file of a run, as aria2 describes a download.
struct AriaDownload: Sendable {
  let run: RunStatus
  /// Its number in the run.
  let file: Int
  /// `nil` if it is not in flight.
  private let active: RunSnapshot.File?

  /// The files in flight; the first one of a run without any.
  static func all(of run: RunStatus) -> [AriaDownload] {
    let active = run.snapshot?.active ?? []
    return active.isEmpty
      ? [AriaDownload(run: run, file: 0, active: nil)]
      : active.map { AriaDownload(run: run, file: $0.id, active: $0) }
  }

  /// 16 hexadecimal digits: the run's number, then the file's, which may have 44 bits.
  static func gid(run: Int, file: Int) -> String {
    let digits = String(UInt64(truncatingIfNeeded: run << 44 | file), radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  var gid: String { Self.gid(run: run.record.number, file: file) }

  /// Whether the run has only this file.
  var isAlone: Bool { run.snapshot?.listed == 1 }

  var status: String {
    switch run.state {
    case .running, .silent: "active"
    case .paused: "paused"
    case .done: "complete"
    case .stopped, .handedOver: "removed"
    case .failed, .died: "error"
    }
  }

  var isStopped: Bool { !run.isAlive }

  /// - Parameter keys: those that are wanted; `nil` for all.
  func fields(only keys: JSONInput?) -> JSONValue {
    let bytes = active?.bytes ?? run.snapshot?.bytes ?? run.record.end?.bytes ?? 0
    let total = active?.total ?? (isStopped ? bytes : 0)
    let path = active.flatMap { FilePath($0.url).lastComponent?.string }.map { "\(run.record.directory)/\($0)" } ?? ""
    let uris = active.map { [JSONValue(["status": "used", "uri": $0.url])] } ?? []
    let entry: JSONFields = [
      "index": "1", "path": path, "length": "\(total)", "completedLength": "\(bytes)", "selected": "true", "uris": uris,
    ]
    var fields: JSONFields = [
      "gid": gid, "status": status, "totalLength": "\(total)", "completedLength": "\(bytes)",
      "uploadLength": "0", "downloadSpeed": "\(run.snapshot?.rate ?? 0)", "uploadSpeed": "0",
      "connections": active == nil ? "0" : "1", "numPieces": "1", "pieceLength": "\(max(total, 1))",
      "bitfield": "00", "dir": run.record.directory, "files": [JSONValue(entry)],
    ]
    if isStopped {
      let code = status == "complete" ? 0 : status == "removed" ? 31 : 1
      fields["errorCode"] = "\(code)"
      if code == 1 {
        let why = run.record.end?.failures?.first?.message
        fields["errorMessage"] = why ?? "see dlm status \(run.record.number)"
      }
    }
    guard let wanted = keys?.list, !wanted.isEmpty else { return JSONValue(fields) }
    let names = Set(wanted.compactMap(\.text))
    return JSONValue(fields.filter { names.contains($0.key) })
  }
}
