package import DownloadModel

/// The concurrency of a run by its mode and settings; the only place that decides it, for every command. `sequential`
/// is one file over one connection on one loop, never split, whatever the settings say.
package struct RunConcurrency {
  /// Files at a time on each network loop, at least 1; one width for each loop.
  package let widths: [Int]
  /// The most transfers of one large file at a time; 1 disables splitting.
  package let segments: Int
  /// Files at a time in the whole run.
  package var jobs: Int { widths.reduce(0, +) }

  /// - Parameter loops: the most network loops; no more are used than there are files, or files at a time.
  /// - Parameter files: the number of files; `nil` if it is known only at the end of the list.
  package init(_ mode: DownloadMode, jobs: Int, segments: Int, loops: Int, files: Int? = nil) {
    let isOneByOne = mode == .sequential
    // One file needs no search for a width.
    let jobs = isOneByOne || files == 1 ? 1 : max(1, jobs)
    let count = max(1, min(jobs, loops, files ?? .max))
    widths = (0..<count).map { jobs / count + ($0 < jobs % count ? 1 : 0) }
    self.segments = isOneByOne ? 1 : max(1, segments)
  }
}
