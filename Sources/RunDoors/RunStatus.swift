package import DownloadModel
package import SystemPackage

/// A run of this user on this machine, and how far it is.
package struct RunStatus: Sendable {
  package let found: RunRecords.Found
  /// `nil` for a run that has ended or does not answer.
  package let snapshot: RunSnapshot?

  package var record: RunRecord { found.record }
  package var isAlive: Bool { found.isAlive }

  /// - Parameter patience: how long a run may take to answer, in milliseconds: it may be stopped (SIGSTOP).
  package init(_ found: RunRecords.Found, patience: Int32 = 2000) {
    self.found = found
    snapshot = found.isAlive ? Self.ask(found.record, patience) : nil
  }

  private static func ask(_ record: RunRecord, _ patience: Int32) -> RunSnapshot? {
    guard let connection = try? connection(to: record), (try? connection.send(["id": 1, "do": "status"])) != nil else {
      return nil
    }
    while let line = try? connection.line(within: patience) {
      if let snapshot = RunSnapshot(json: line) { return snapshot }
    }
    return nil
  }

  /// - Throws: `.noSuchFileOrDirectory` after the run has ended; errors of `DoorConnection`.
  package static func connection(to record: RunRecord) throws(Errno) -> DoorConnection {
    guard let door = record.door else { throw .noSuchFileOrDirectory }
    return try DoorConnection(to: FilePath(door))
  }

  package var state: State {
    if found.isAlive { return snapshot.map { $0.isPaused ? .paused : .running } ?? .silent }
    guard let end = record.end else { return .died }
    if end.isHandedOver { return .handedOver }
    return end.status == 0 ? .done : end.status > 128 ? .stopped : .failed
  }

  package enum State: String, Sendable {
    case running, paused, done, failed, stopped, died
    case handedOver = "handed over"
    /// It may be stopped (SIGSTOP).
    case silent = "does not answer"
  }

  package var fields: JSONFields {
    let own: JSONFields = [
      "run": record.number, "state": "\(state)", "process": record.process.number, "directory": record.directory,
      "list": record.list, "detached": record.isDetached, "beganAt": record.beganAt, "endedAt": record.end?.at,
      "status": record.end.map { Int($0.status) }, "door": record.door,
    ]
    let ended: JSONFields =
      record.end.map { end in
        [
          "done": end.done, "failed": end.failed, "bytes": end.bytes,
          "failures": (end.failures ?? []).map { JSONValue($0.fields) },
        ]
      } ?? [:]
    return own.merging(snapshot?.fields ?? ended) { $1 }
  }
}
