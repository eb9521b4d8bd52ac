import DownloadModel
import Synchronization

/// A sink in memory that judges as the test wants.
final class CollectingSink: BodySink {
  private let state = Mutex(State())
  private let judge: @Sendable (ResponseHead) throws(DownloadError) -> BodyDisposition
  private let limit: Int

  private struct State {
    var head: ResponseHead?
    var bytes: [UInt8] = []
    var writesBeforeHead = 0
  }

  /// - Parameter failsAfter: bytes from which on `write` throws a full disk.
  init(
    failsAfter limit: Int = .max,
    _ judge: @escaping @Sendable (ResponseHead) throws(DownloadError) -> BodyDisposition = { _ in .write }
  ) {
    self.judge = judge
    self.limit = limit
  }

  var head: ResponseHead? { state.withLock { $0.head } }
  var bytes: [UInt8] { state.withLock { $0.bytes } }

  func accept(_ head: ResponseHead) throws(DownloadError) -> BodyDisposition {
    state.withLock { $0.head = head }
    return try judge(head)
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws(DownloadError) {
    let count = state.withLock { state in
      state.bytes += bytes
      return state.bytes.count
    }
    if count > limit { throw DownloadError(.diskFull, activity: "writing") }
  }
}
