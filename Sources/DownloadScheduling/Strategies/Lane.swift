import DownloadModel

/// A loop's lanes: a strategy over that loop's requests, in which each download is a call of the loop's own downloader.
///
/// Only this type arranges that a download stays on its thread. A strategy knows nothing of actors or threads. Two
/// things keep it, and what it starts, on the loop:
///
/// - The lane is a task that prefers the loop's task executor, and its child tasks inherit that preference (SE-0417).
///   So the strategy's own code, isolated to no actor, runs on the loop.
/// - `download` is one tail call into an actor of the loop, whose executor is the same thread: the call changes no
///   thread. With work behind the call there would be a job more.
///
/// The strategy is called as `any DownloadStrategy`: specialised, `async let` costs two jobs more for each file (Swift
/// 6.3).
public struct Lane: Sendable {
  private let downloader: Downloader
  private let executor: (any TaskExecutor)?
  private let share: RequestQueueShare
  private let width: Int
  private let scopes: DownloadScopes?

  /// - Parameters:
  ///   - executor: the one of the downloader's loop; nil to run where the caller runs.
  ///   - width: downloads at a time, at least 1.
  ///   - scopes: by which single downloads are cancelled; nil where that is not wanted.
  public init(
    _ downloader: Downloader, on executor: (any TaskExecutor)?, from share: RequestQueueShare, width: Int,
    scopes: DownloadScopes? = nil
  ) {
    self.scopes = scopes
    self.downloader = downloader
    self.executor = executor
    self.share = share
    self.width = width
  }

  /// Downloads all requests that the share gives.
  public func run(_ strategy: any DownloadStrategy) async {
    let (downloader, share) = (downloader, share)
    if let scopes { return await run(strategy, scopes) }
    await withTaskExecutorPreference(executor) {
      await strategy.run(share, width: width) { await downloader.download($0, from: share) }
    }
  }

  private func run(_ strategy: any DownloadStrategy, _ scopes: DownloadScopes) async {
    let (downloader, share) = (downloader, share)
    await withTaskExecutorPreference(executor) {
      await strategy.run(share, width: width) { request in
        await scopes.run(request) { await downloader.download($0, from: share) }
      }
    }
  }
}
