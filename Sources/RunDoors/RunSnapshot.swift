package import DownloadModel

/// How far a run is, as other processes see it.
package struct RunSnapshot: Equatable, Codable, Sendable {
  /// A file in flight.
  package struct File: Equatable, Codable, Sendable {
    /// Its number in the run, by which commands name it.
    package var id: Int
    /// Its URL, redacted.
    package var url: String
    /// Bytes received so far, including those of earlier runs.
    package var bytes: Int64
    /// Length of the complete file in bytes; `nil` if unknown.
    package var total: Int64?
  }

  /// A file that has failed.
  package struct Failure: Equatable, Codable, Sendable {
    package var id: Int
    /// Its URL, redacted.
    package var url: String
    package var message: String

    package init(id: Int, url: String, message: String) {
      self.id = id
      self.url = url
      self.message = message
    }

    var fields: JSONFields { ["id": id, "url": url, "message": message] }
  }

  package var isPaused = false
  /// The completed fraction, from 0 to 1, and the remaining seconds; `nil` if unknown.
  package var fraction: Double?
  package var secondsLeft: Double?
  /// Requests read from its list so far, and whether the list was read to its end.
  package var listed: Int
  package var listIsComplete: Bool
  package var done: Int
  package var failed: Int
  /// Bytes of the finished files and of those in flight.
  package var bytes: Int64
  /// Body bytes per second, over the last few seconds.
  package var rate: Int64
  /// Some of the files in flight, those that started first.
  package var active: [File]
  /// The number of further files in flight.
  package var more: Int
  /// Some of the failed files, the first of the list; `nil` from a run of an earlier version.
  package var failures: [Failure]?

  private static let named = 8

  /// - Parameter rate: in bytes per second.
  package init(_ sample: ProgressSample, rate: Int64) {
    isPaused = sample.isPaused
    listed = sample.tally.listed
    listIsComplete = sample.tally.listIsComplete
    done = sample.tally.done
    failed = sample.tally.failed
    bytes = sample.active.reduce(sample.tally.finishedBytes) { $0 + $1.meter.position }
    self.rate = rate
    active = sample.active.sorted { $0.id < $1.id }.prefix(Self.named).map {
      File(id: $0.id, url: $0.address.redacted, bytes: $0.meter.position, total: $0.meter.total)
    }
    more = sample.active.count - active.count
  }

  package var fields: JSONFields {
    [
      "isPaused": isPaused, "listed": listed, "listIsComplete": listIsComplete, "done": done, "failed": failed,
      "bytes": bytes, "rate": rate, "more": more, "fraction": fraction, "secondsLeft": secondsLeft,
      "active": active.map { JSONValue(["id": $0.id, "url": $0.url, "bytes": $0.bytes, "total": $0.total]) },
      "failures": (failures ?? []).map { JSONValue($0.fields) },
    ]
  }
}
