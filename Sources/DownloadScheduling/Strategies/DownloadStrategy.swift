public import DownloadModel

/// A way to run a list of downloads: in which order, and how many at a time.
///
/// It knows nothing of networks, files, actors or threads (see `Lane`). It takes requests no faster than it starts
/// them, never has more than `width` in flight, and returns when every download that it started has returned. A
/// cancelled source gives no more requests, so that no strategy can forget cancellation.
public protocol DownloadStrategy: Sendable {
  /// Downloads one file to its end, good or bad; it ends early by itself when cancelled.
  typealias Download = @Sendable (DownloadRequest) async -> Void

  /// - Parameter width: downloads at a time, at least 1.
  func run(_ source: some RequestSource, width: Int, download: @escaping Download) async
}

extension DownloadMode {
  public var strategy: any DownloadStrategy {
    switch self {
    case .sequential: SequentialStrategy()
    case .asyncLet: AsyncLetStrategy()
    // A group whose width `AdaptiveConcurrency` finds; of one file at a time it is the loop.
    case .parallel, .auto: TaskGroupStrategy()
    }
  }
}

/// A loop's lanes: a strategy over that loop's requests, in which each download is a call of the loop's own downloader.
/// Only this type keeps a download on its thread: the lane prefers the loop's task executor, which its child tasks
/// inherit (SE-0417), and `download` is one tail call into an actor of the loop.
///
/// The strategy is called as `any`: specialised, `async let` costs two jobs more for each file (Swift 6.3).
public struct Lane: Sendable {
  private let executor: (any TaskExecutor)?
  private let share: RequestQueueShare
  private let width: Int
  private let download: DownloadStrategy.Download

  /// - Parameter executor: the one of the downloader's loop; nil to run where the caller runs.
  public init(
    _ downloader: Downloader, on executor: (any TaskExecutor)?, from share: RequestQueueShare, width: Int,
    scopes: DownloadScopes? = nil
  ) {
    (self.executor, self.share, self.width) = (executor, share, width)
    let download: DownloadStrategy.Download = { await downloader.download($0, from: share) }
    if let scopes { self.download = { await scopes.run($0, download) } } else { self.download = download }
  }

  /// Downloads all requests that the share gives.
  public func run(_ strategy: any DownloadStrategy) async {
    await withTaskExecutorPreference(executor) { await strategy.run(share, width: width, download: download) }
  }
}
