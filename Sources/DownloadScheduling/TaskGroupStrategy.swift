public import DownloadModel

/// A task a file, `width` of them at a time: the group is seeded, then topped up as each child ends.
///
///     group ─┬─ a ──►─ d ──►
///            ├─ b ────────►─ f ─►
///            └─ c ─►─ e ──►
///
/// The number of children is free at run time, each file is a task of its own with its own place in the task
/// tree, and cancelling the group reaches all of them. It costs one task a file, which begins at once and not as a job.
public struct TaskGroupStrategy: DownloadStrategy {
  public init() {}

  public func run(
    _ source: some RequestSource, width: Int, isolation: isolated (any Actor)?, download: @escaping Download
  ) async {
    await withTaskGroup(of: Void.self, isolation: isolation) { group in
      for _ in 0..<max(1, width) {
        guard !Task.isCancelled, let request = await source.next() else { break }
        group.addImmediateTask { await download(request, isolation) }
      }
      while await group.next() != nil {
        guard !Task.isCancelled, let request = await source.next() else { continue }
        group.addImmediateTask { await download(request, isolation) }
      }
    }
  }
}
