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
