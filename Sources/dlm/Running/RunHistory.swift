import Crypto
import DownloadModel
import Foundation
import SystemPackage

/// What the last `get` in a folder was: its sources, and how each mode did on its list.
struct RunHistory: Codable {
  var folder: String
  var sources: [String]
  var runs: [String: Run] = [:]  // by mode

  struct Run: Codable, Equatable {
    var listDigest: String
    var jobs: Int
    var fetched: Int
    /// `ProgressTally.fetchedBytes`; under the name that earlier versions wrote.
    var transferredBytes: Int64
    var seconds: Double
    var endedAt: Date
  }

  /// An earlier run of the same list in another mode.
  struct Comparison: Equatable {
    var mode: DownloadMode
    var run: Run
    /// Both moved the same files over the network; a run that found everything unchanged measures something else.
    var isFair: Bool
  }

  /// The newest run of the same list in another mode, one that can be compared before one that cannot.
  /// Nil also for a run that fetched nothing: it says nothing about its mode.
  func comparison(for this: Run, in mode: DownloadMode) -> Comparison? {
    guard this.fetched > 0 else { return nil }
    let others = runs.compactMap { name, run -> Comparison? in
      guard let other = DownloadMode(rawValue: name), other != mode, run.listDigest == this.listDigest else {
        return nil
      }
      let isFair = run.fetched == this.fetched && run.transferredBytes == this.transferredBytes
      return Comparison(mode: other, run: run, isFair: isFair)
    }
    return others.max { ($0.isFair ? 1 : 0, $0.run.endedAt) < ($1.isFair ? 1 : 0, $1.run.endedAt) }
  }
}

/// Keeps a history for each folder, in a file named for it.
struct RunHistoryStore {
  private let file: FilePath
  private let folder: String

  /// - Parameters:
  ///   - state: `$XDG_STATE_HOME/dlm`.
  ///   - folder: the working directory, absolute.
  init(state: FilePath, folder: String) {
    self.folder = folder
    let name = SHA256.hash(data: Array(folder.utf8)).prefix(8).map { String($0, radix: 36) }.joined()
    file = state.appending("runs").appending(FilePath(name + ".json").components)
  }

  /// Where a list from standard input is kept for the same folder.
  var spoolPath: FilePath { FilePath(file.string.dropLast(5) + ".list") }

  /// Nil when there is none, or when another version wrote it in a form of its own.
  func load() -> RunHistory? {
    guard let data = FileManager.default.contents(atPath: file.string) else { return nil }
    return try? JSONDecoder().decode(RunHistory.self, from: data)
  }

  func save(_ history: RunHistory) throws {
    try FileManager.default.createDirectory(
      atPath: file.removingLastComponent().string, withIntermediateDirectories: true)
    try JSONEncoder().encode(history).write(to: URL(fileURLWithPath: file.string), options: .atomic)
  }

  /// - Parameter last: what was stored, whose runs go on counting.
  func newHistory(_ sources: [String], after last: RunHistory?) -> RunHistory {
    RunHistory(folder: folder, sources: sources, runs: last?.runs ?? [:])
  }
}
