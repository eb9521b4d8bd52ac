public import DownloadModel

/// A way to run a list of downloads: in which order, and how many at a time.
///
/// A strategy knows nothing of networks, files or terminals. It draws requests no faster than it starts them,
/// never has more than `width` under way, stops drawing once its task is cancelled, and returns when every
/// download that it started has returned.
public protocol DownloadStrategy: Sendable {
  /// - Parameters:
  ///   - width: downloads at a time, at least 1.
  ///   - download: downloads one file to its end, good or bad; it obeys cancellation by itself.
  func run(
    _ source: some RequestSource, width: Int,
    download: @escaping @Sendable (DownloadRequest) async -> Void
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
