import DownloadModel
import Synchronization

/// A lazy list that knows how far it was drawn.
final class CountingSource: RequestSource {
  private let length: Int
  private let position = Lock(0)
  private let address: Address

  init(_ length: Int) throws {
    self.length = length
    address = try Address("http://example.org/file")
  }

  var drawn: Int { position.withLock { $0 } }

  nonisolated(nonsending) func next() async -> DownloadRequest? {
    position.withLock { position in
      guard position < length, !Task.isCancelled else { return nil }
      defer { position += 1 }
      return DownloadRequest(id: position, address: address)
    }
  }
}
