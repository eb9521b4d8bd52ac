public import DownloadModel

/// A task a file, `width` of them at a time: the group is seeded, then topped up as each child ends.
///
///     group ─┬─ a ──►─ d ──►
///            ├─ b ────────►─ f ─►
///            └─ c ─►─ e ──►
///
/// The number of children is free at run time, and cancelling the group reaches all. It costs a task for each file.
public struct TaskGroupStrategy: DownloadStrategy {
  public init() {}

  public func run(_ source: some RequestSource, width: Int, download: @escaping Download) async {
    await withTaskGroup { group in
      for _ in 0..<max(1, width) { await group.start(source, download) }
      for await _ in group { await group.start(source, download) }
    }
  }
}

extension TaskGroup<Void> {
  /// Begins the next download, if there is one, as a child that starts at once, without a job.
  fileprivate mutating func start(
    _ source: some RequestSource, _ download: @escaping DownloadStrategy.Download
  ) async {
    if let request = await source.next() { addImmediateTask { await download(request) } }
  }
}
