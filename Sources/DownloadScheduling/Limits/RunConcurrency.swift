package import DownloadModel

/// How much of a run goes on at a time, by its mode and its settings: decided only here, for every command.
/// `sequential` is one file over one connection on one loop, never split, whatever the settings say.
package struct RunConcurrency: Sendable, Equatable {
  /// Files at a time on each network loop, at least 1; as many loops as there are widths.
  package let widths: [Int]
  /// Transfers of one large file at a time, at most; 1 for no splitting.
  package let segments: Int
  /// Files at a time of the whole run.
  package var jobs: Int { widths.reduce(0, +) }

  /// - Parameter loops: network loops, at most; no more are used than there are files, or files at a time.
  /// - Parameter files: how many files there are; nil if that is known only at the end of their list.
  package init(_ mode: DownloadMode, jobs: Int, segments: Int, loops: Int, files: Int? = nil) {
    let isOneByOne = mode == .sequential
    // One file has no width to find.
    let jobs = isOneByOne || files == 1 ? 1 : max(1, jobs)
    let count = max(1, min(jobs, loops, files ?? .max))
    widths = (0..<count).map { jobs / count + ($0 < jobs % count ? 1 : 0) }
    self.segments = isOneByOne ? 1 : max(1, segments)
  }
}
