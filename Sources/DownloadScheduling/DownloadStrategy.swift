public import DownloadModel

/// A way to run a list of downloads: in which order, and how many at a time.
///
/// A strategy knows nothing of networks, files or terminals. It draws requests no faster than it starts them,
/// never has more than `width` under way, stops drawing once its task is cancelled, and returns when every
/// download that it started has returned.
public protocol DownloadStrategy: Sendable {
  /// Downloads one file to its end, good or bad, in the isolation of whoever calls; it obeys cancellation by itself.
  typealias Download = @Sendable (DownloadRequest, isolated (any Actor)?) async -> Void

  /// Stays in its caller's isolation, and so do the downloads: those of one network loop never leave its thread.
  /// - Parameter width: downloads at a time, at least 1.
  func run(
    _ source: some RequestSource, width: Int, isolation: isolated (any Actor)?, download: @escaping Download
  ) async
}

extension DownloadMode {
  public var strategy: any DownloadStrategy {
    switch self {
    case .sequential: SequentialStrategy()
    case .asyncLet: AsyncLetStrategy()
    case .parallel: TaskGroupStrategy()
    }
  }
}
