package import DownloadModel

/// A sink in memory that judges as the test wants.
package final class CollectingSink: ByteSink {
  package typealias Judge = @Sendable (ResponseHead) throws(DownloadError) -> BodyDisposition

  private struct State {
    var head: ResponseHead?
    var bytes: [UInt8] = []
  }

  private let monitor = Monitor(State())
  private let judge: Judge
  private let limit: Int
  private let wanted: Int

  /// - Parameters:
  ///   - limit: bytes from which on `write` throws a full disk.
  ///   - wanted: bytes from which on it wants no more.
  ///   - judge: what `accept` answers.
  package init(
    failsAfter limit: Int = .max, enoughAfter wanted: Int = .max, _ judge: @escaping Judge = { _ in .write }
  ) {
    self.judge = judge
    self.limit = limit
    self.wanted = wanted
  }

  package var head: ResponseHead? { monitor.withState { $0.head } }
  package var bytes: [UInt8] { monitor.withState { $0.bytes } }

  package func accept(_ head: ResponseHead) throws(DownloadError) -> BodyDisposition {
    monitor.withState { $0.head = head }
    return try judge(head)
  }

  package func write(_ bytes: UnsafeRawBufferPointer) throws(DownloadError) -> SinkDemand {
    let piece = Array(bytes)
    let count = monitor.withState { state in
      state.bytes += piece
      return state.bytes.count
    }
    if count > limit { throw DownloadError(.diskFull, activity: "writing") }
    return count >= wanted ? .enough : .more
  }
}
