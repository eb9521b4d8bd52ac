import DownloadModel
import FoundationEssentials

/// The history of a folder as earlier versions kept it: one JSON document, which each run replaced.
struct RunHistoryDocument: Decodable {
  /// The first version had neither a number, nor options.
  private let version: Int?
  private let sources: [String]
  private let options: [String]?
  private let withheld: [Withheld]?
  private let last: WholeRun?
  private let runs: [String: Run]

  private struct WholeRun: Decodable {
    let mode: DownloadMode
    let listDigest: String
    let directory: String
  }

  private struct Run: Decodable {
    let listDigest: String
    let jobs: Int
    let fetched: Int
    let transferredBytes: Int64
    let seconds: Double
    /// In seconds since 2001.
    let endedAt: Double
  }

  private static let newestVersion = 2

  /// - Returns: nil if it is no such document, or of a later version.
  init?(json: [UInt8]) {
    guard let document = try? JSONDecoder().decode(RunHistoryDocument.self, from: Data(json)),
      document.version ?? 1 <= Self.newestVersion
    else { return nil }
    self = document
  }

  /// What a run would have noted instead.
  var events: [RunEvent] {
    let run = "0"
    let measured = runs.compactMap { name, run in
      DownloadMode(rawValue: name).map { RunEvent.measured($0, Self.run(run), isOfAll: true) }
    }
    let began = RunEvent.began(
      run: run, RunHistory.Command(sources: sources, options: options ?? [], withheld: withheld ?? []))
    let ended = last.map {
      RunEvent.ended(
        run: run,
        RunHistory.WholeRun(mode: $0.mode, listDigest: $0.listDigest, directory: $0.directory))
    }
    return measured + [began] + (ended.map { [$0] } ?? [])
  }

  private static func run(_ run: Run) -> RunHistory.Run {
    // Seconds from 1970 to 2001.
    let time = (run.endedAt + 978_307_200) * 1000
    return RunHistory.Run(
      listDigest: run.listDigest, jobs: run.jobs, fetched: run.fetched,
      transferredBytes: run.transferredBytes, seconds: run.seconds,
      endedAt: Int64(exactly: time.rounded()) ?? 0)
  }
}
