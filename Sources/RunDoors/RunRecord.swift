package import DownloadModel
import Glibc

/// One run of `dlm get`, as other processes of its user find it: also after it has ended, and after a kill.
package struct RunRecord: Codable, Equatable, Sendable {
  /// By which the user names the run; 0 before it is recorded.
  package var number = 0
  package var process: RunProcess
  /// The output folder, absolute.
  package var directory: String
  /// The folder in which it was started, absolute.
  package var startedIn: String
  /// Its first list and the number of further ones, for people.
  package var list: String
  /// The words after `dlm get` that start it again, without secrets.
  package var words: [String]
  /// Options with secrets, which the user must give again.
  package var withheld: [String] = []
  /// The path of the socket; `nil` once it is closed, and if no place takes one.
  package var door: String?
  /// Whether it has no terminal.
  package var isDetached = false
  /// In milliseconds since 1970.
  package var beganAt: Int64
  /// `nil` during the run, and after a kill.
  package var end: End?

  /// Whether it has ended, and nothing is left to resume.
  package var isFinished: Bool { end.map { $0.status == 0 || $0.isHandedOver } ?? false }

  package struct End: Codable, Equatable, Sendable {
    package var status: Int32
    /// In milliseconds since 1970.
    package var at: Int64
    /// Files.
    package var done: Int
    package var failed: Int
    package var bytes: Int64
    /// Whether a detached run goes on with its files.
    package var isHandedOver = false
    /// Some of the failed files, the first of the list; `nil` from an earlier version.
    package var failures: [RunSnapshot.Failure]?

    package init(status: Int32, at: Int64, done: Int, failed: Int, bytes: Int64) {
      self.status = status
      self.at = at
      self.done = done
      self.failed = failed
      self.bytes = bytes
    }
  }

  package init(
    process: RunProcess, directory: String, startedIn: String, list: String, words: [String], withheld: [String] = [],
    beganAt: Int64
  ) {
    self.process = process
    self.directory = directory
    self.startedIn = startedIn
    self.list = list
    self.words = words
    self.withheld = withheld
    self.beganAt = beganAt
  }
}
