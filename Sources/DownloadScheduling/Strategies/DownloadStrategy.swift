public import DownloadModel

/// A way to run a list of downloads: in which order, and how many at a time.
///
/// It knows nothing of networks, files, actors or threads (see `Lane`). It takes requests no faster than it starts
/// them, never has more than `width` in flight, and returns when every download that it started has returned. A
/// cancelled source gives no more requests, so that no strategy can forget cancellation.
public protocol DownloadStrategy: Sendable {
  /// Downloads one file until it succeeds or fails; it ends early by itself when cancelled.
  typealias Download = @Sendable (DownloadRequest) async -> Void

  /// - Parameter width: downloads at a time, at least 1.
  func run(_ source: some RequestSource, width: Int, download: @escaping Download) async
}

extension DownloadMode {
  package var strategy: any DownloadStrategy {
    switch self {
    case .sequential: SequentialStrategy()
    case .asyncLet: AsyncLetStrategy()
    // `auto` is a group whose width `AdaptiveConcurrency` finds.
    case .parallel, .auto: TaskGroupStrategy()
    }
  }
}

/// One file after the other: the plain loop that is the baseline of the other two.
///
///     a ──────► b ──────► c ──────►
///
/// It takes the sum of all download times: while one file waits for its server, nothing else runs.
public struct SequentialStrategy: DownloadStrategy {
  public init() {}

  public func run(_ source: some RequestSource, width: Int, download: @escaping Download) async {
    while let request = await source.next() { await download(request) }
  }
}

/// `width` lanes, each a sequential loop over the shared list, made with `async let`.
///
///     lanes(4) ─┬─ lanes(2) ─┬─ a ──► d ──►
///               │            └─ b ────────► g ─►
///               └─ lanes(2) ─┬─ c ─► e ──► f ──►
///                            └─ …
///
/// The children of `async let` are fixed at compile time, so a width known only at run time is reached by halving: each
/// call starts one half as a child and runs the other itself. That costs 2 × width − 1 calls for the run, and no task
/// for each file; but a single file's result cannot be awaited from outside.
public struct AsyncLetStrategy: DownloadStrategy {
  public init() {}

  public func run(_ source: some RequestSource, width: Int, download: @escaping Download) async {
    guard width > 1 else { return await SequentialStrategy().run(source, width: 1, download: download) }
    async let half: Void = run(source, width: width / 2, download: download)
    await run(source, width: width - width / 2, download: download)
    await half
  }
}

/// One task for each file, `width` of them at a time: the group is seeded, then topped up as each child ends.
///
///     group ─┬─ a ──►─ d ──►
///            ├─ b ────────►─ f ─►
///            └─ c ─►─ e ──►
///
/// The number of children is chosen at run time, and cancelling the group reaches all. It costs a task for each file.
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
  /// Starts the next download, if there is one, as a child that runs at once, without a job.
  fileprivate mutating func start(
    _ source: some RequestSource, _ download: @escaping DownloadStrategy.Download
  ) async {
    if let request = await source.next() { addImmediateTask { await download(request) } }
  }
}

/// A loop's lanes: a strategy over that loop's requests, in which each download is a call of the loop's own downloader.
/// Only this type keeps a download on its thread: the lane prefers the loop's task executor, which its child tasks
/// inherit (SE-0417), and `download` is one tail call into an actor of the loop.
///
/// The strategy is called as `any`: specialised, `async let` costs two jobs more for each file (Swift 6.3).
package struct Lane {
  private let executor: (any TaskExecutor)?
  private let share: LoopQueue
  private let width: Int
  private let download: DownloadStrategy.Download

  /// - Parameter executor: the executor of the downloader's loop; `nil` to run where the caller runs.
  package init(
    _ downloader: Downloader, on executor: (any TaskExecutor)?, from share: LoopQueue, width: Int
  ) {
    self.executor = executor
    self.share = share
    self.width = width
    download = { await downloader.download($0, from: share) }
  }

  /// Downloads all requests that the share gives.
  package func run(_ strategy: any DownloadStrategy) async {
    await withTaskExecutorPreference(executor) { await strategy.run(share, width: width, download: download) }
  }
}
