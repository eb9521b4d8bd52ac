import DownloadModel
import Foundation

/// What the last `get` in a folder was, and how long each mode took for its list.
struct RunHistory: Codable, Equatable {
  /// Grows when an older dlm would misread what a newer one wrote.
  static let version = 2

  private(set) var version = Self.version
  /// The working folder, absolute.
  var folder: String
  /// Lists by their whole path, addresses without credentials.
  var sources: [String]
  /// As they would be typed; see `RememberedOptions`.
  var options: [String] = []
  var withheld: [Withheld] = []
  /// Nil while a run is under way, and after one that did not end whole.
  var last: WholeRun?
  /// By mode: those that measured it.
  var runs: [String: Run] = [:]

  /// A run after which everything of its list was there.
  struct WholeRun: Codable, Equatable {
    var mode: DownloadMode
    var listDigest: String
    /// The output folder, absolute and without links.
    var directory: String
  }

  struct Run: Codable, Equatable {
    var listDigest: String
    var jobs: Int
    /// Files whose bodies came over the network.
    var fetched: Int
    /// Their bytes that were not here before.
    var transferredBytes: Int64
    var seconds: Double
    var endedAt: Date

    /// Whether both moved the same files; a run that found most of them unchanged measures something else. Of files
    /// without a byte it cannot be seen whether they came.
    func didSameWork(as other: Run) -> Bool {
      listDigest == other.listDigest && transferredBytes == other.transferredBytes
        && (transferredBytes > 0 || fetched == other.fetched)
    }
  }

  init(folder: String, sources: [String]) { (self.folder, self.sources) = (folder, sources) }

  private enum CodingKeys: String, CodingKey {
    case version, folder, sources, options, withheld, last, runs
  }

  /// - Throws: also for what a later version wrote.
  init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    // The first version had neither a number, nor options.
    let version = try values.decodeIfPresent(Int.self, forKey: .version) ?? 1
    guard version <= Self.version else {
      throw DecodingError.dataCorruptedError(
        forKey: .version, in: values, debugDescription: "version \(version) is of a later dlm")
    }
    folder = try values.decode(String.self, forKey: .folder)
    sources = try values.decode([String].self, forKey: .sources)
    options = try values.decodeIfPresent([String].self, forKey: .options) ?? []
    withheld = try values.decodeIfPresent([Withheld].self, forKey: .withheld) ?? []
    last = try values.decodeIfPresent(WholeRun.self, forKey: .last)
    runs = try values.decode([String: Run].self, forKey: .runs)
  }

  /// An earlier run of the same list in another mode.
  struct Comparison: Equatable {
    var mode: DownloadMode
    var run: Run
    /// Both moved the same files over the network.
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
      return Comparison(mode: other, run: run, isFair: run.didSameWork(as: this))
    }
    return others.max { ($0.isFair ? 1 : 0, $0.run.endedAt) < ($1.isFair ? 1 : 0, $1.run.endedAt) }
  }

  /// What is known of a list without another run: the fastest mode, and sequential or the slowest, of those that did
  /// the same work.
  func measured(_ listDigest: String) -> (fast: Comparison, slow: Comparison)? {
    let all = runs.compactMap { name, run -> Comparison? in
      guard let mode = DownloadMode(rawValue: name), run.listDigest == listDigest else { return nil }
      return Comparison(mode: mode, run: run, isFair: true)
    }.sorted { $0.run.seconds < $1.run.seconds }
    guard let fast = all.first else { return nil }
    let others = all.dropFirst().filter { $0.run.didSameWork(as: fast.run) }
    return (others.first { $0.mode == .sequential } ?? others.last).map { (fast, $0) }
  }

  /// Notes how long a mode took.
  ///
  /// A run that fetched nothing, or less than the one before it, did other work: it leaves the measured time.
  mutating func note(_ run: Run, of mode: DownloadMode) {
    guard run.fetched > 0 else { return }
    if let earlier = runs[mode.rawValue], earlier.listDigest == run.listDigest,
      run.fetched <= earlier.fetched,
      run.transferredBytes < earlier.transferredBytes
    {
      return
    }
    runs[mode.rawValue] = run
  }
}
