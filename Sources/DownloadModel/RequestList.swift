import Synchronization

/// A source over a lazy sequence that is at hand and never blocks, such as the addresses of a command line.
public final class RequestList: RequestSource {
  private let iterator: Mutex<AnyIterator<DownloadRequest>>

  /// The sequence is moved in: nothing else may still draw from it.
  public init(_ requests: sending some Sequence<DownloadRequest>) {
    iterator = Mutex(AnyIterator(requests.makeIterator()))
  }

  public nonisolated(nonsending) func next() async -> DownloadRequest? { iterator.withLock { $0.next() } }

  public func takeAtOnce() -> DownloadRequest? { iterator.withLock { $0.next() } }
}
