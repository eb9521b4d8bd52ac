public import DownloadModel

/// A task a file, `width` of them at a time: the group is seeded, then topped up as each child ends.
///
///     group ─┬─ a ──►─ d ──►
///            ├─ b ────────►─ f ─►
///            └─ c ─►─ e ──►
///
/// The number of children is free at run time, each file is a task of its own with its own place in the task
/// tree, and cancelling the group reaches all of them. It costs one task a file.
public struct TaskGroupStrategy: DownloadStrategy {
  public init() {}

  public func run(
    _ source: some RequestSource, width: Int,
    download: @escaping @Sendable (DownloadRequest) async -> Void
  ) async {
    await withTaskGroup { group in
      for _ in 0..<max(1, width) {
        guard !Task.isCancelled, let request = await source.next() else { break }
        group.addTask { await download(request) }
      }
      while await group.next() != nil {
        guard !Task.isCancelled, let request = await source.next() else { continue }
        group.addTask { await download(request) }
      }
    }
  }
}
