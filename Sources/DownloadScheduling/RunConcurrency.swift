public import DownloadModel

/// How much of a run goes on at a time: what its mode makes of what was set. The one place that says so, for every
/// command.
///
/// `sequential` is the line that the other modes are measured against: one file at a time, over one connection, on one
/// loop, and never split, whatever else was asked for.
public struct RunConcurrency: Sendable, Equatable {
  /// Files at a time on each network loop, at least 1; as many loops as there are widths.
  public let widths: [Int]
  /// Transfers of one large file at a time, at most; 1 for no splitting.
  public let segments: Int
  /// Files at a time of the whole run.
  public var jobs: Int { widths.reduce(0, +) }

  /// - Parameters:
  ///   - jobs: files at a time, at most.
  ///   - loops: network loops, at most; no more than there are files at a time, or files.
  ///   - files: how many there are to fetch; nil where that is known only at the end of their list.
  public init(_ mode: DownloadMode, jobs: Int, segments: Int, loops: Int, files: Int? = nil) {
    let isOneByOne = mode == .sequential
    let jobs = isOneByOne ? 1 : max(1, jobs)
    let count = max(1, min(jobs, loops, files ?? .max))
    widths = (0..<count).map { jobs / count + ($0 < jobs % count ? 1 : 0) }
    self.segments = isOneByOne ? 1 : max(1, segments)
  }
}
