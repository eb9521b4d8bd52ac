import DownloadModel

/// What the last `get` in a folder was, and how long each mode took for its list.
struct RunHistory: Equatable {
  /// The working folder, absolute.
  var folder: String
  /// The command of the last run.
  var command: Command
  /// Nil while a run is under way, and after one that did not end whole.
  var last: WholeRun?
  /// By mode: the runs that measured it.
  var runs: [DownloadMode: Run] = [:]

  /// What a run was asked for, as far as the next one may know it.
  struct Command: Equatable {
    /// Lists by their whole path, addresses without credentials.
    var sources: [String]
    /// As the user would type them; see `RememberedOptions`.
    var options: [String] = []
    var withheld: [Withheld] = []
    /// The output folder, absolute; nil where an earlier version did not note it.
    var directory: String?
  }

  /// A run after which every file of its list was there.
  struct WholeRun: Equatable {
    var mode: DownloadMode
    var listDigest: String
    /// The output folder, absolute and without links.
    var directory: String
  }

  struct Run: Equatable {
    var listDigest: String
    var jobs: Int
    /// Files whose bodies came over the network.
    var fetched: Int
    /// The bytes of those files that were not here before.
    var transferredBytes: Int64
    var seconds: Double
    /// In milliseconds since 1970.
    var endedAt: Int64

    /// Whether both moved the same files; a run that found most of them unchanged measures something else.
    /// For files without a byte, this cannot tell whether they were fetched.
    func didSameWork(as other: Run) -> Bool {
      listDigest == other.listDigest && transferredBytes == other.transferredBytes
        && (transferredBytes > 0 || fetched == other.fetched)
    }

    /// Whether it takes the place of an earlier run of its mode. One that fetched nothing, or less than the
    /// one before it, did other work, so the measured time stays.
    func replaces(_ earlier: Run?) -> Bool {
      guard fetched > 0 else { return false }
      guard let earlier, earlier.listDigest == listDigest, fetched <= earlier.fetched else { return true }
      return transferredBytes >= earlier.transferredBytes
    }
  }

  /// An earlier run of the same list in another mode.
  struct Comparison: Equatable {
    var mode: DownloadMode
    var run: Run
    /// Both moved the same files over the network.
    var isFair: Bool
  }

  /// The newest run of the same list in another mode; one that can be compared goes before one that cannot.
  /// Nil also for a run that fetched nothing, because it measures nothing.
  func comparison(for this: Run, in mode: DownloadMode) -> Comparison? {
    guard this.fetched > 0 else { return nil }
    let others = runs.compactMap { other, run -> Comparison? in
      guard other != mode, run.listDigest == this.listDigest else { return nil }
      return Comparison(mode: other, run: run, isFair: run.didSameWork(as: this))
    }
    return others.max { ($0.isFair ? 1 : 0, $0.run.endedAt) < ($1.isFair ? 1 : 0, $1.run.endedAt) }
  }

  /// The known times of a list without another run: the fastest mode, and sequential or the slowest, of those
  /// that did the same work.
  func measured(_ listDigest: String) -> (fast: Comparison, slow: Comparison)? {
    let all = runs.compactMap { mode, run -> Comparison? in
      run.listDigest == listDigest ? Comparison(mode: mode, run: run, isFair: true) : nil
    }.sorted { $0.run.seconds < $1.run.seconds }
    guard let fast = all.first else { return nil }
    let others = all.dropFirst().filter { $0.run.didSameWork(as: fast.run) }
    return (others.first { $0.mode == .sequential } ?? others.last).map { (fast, $0) }
  }
}
