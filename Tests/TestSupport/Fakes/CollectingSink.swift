public import DownloadModel

/// A sink in memory that judges as the test wants.
public final class CollectingSink: ByteSink {
  public typealias Judge = @Sendable (ResponseHead) throws(DownloadError) -> BodyDisposition

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
  public init(
    failsAfter limit: Int = .max, enoughAfter wanted: Int = .max, _ judge: @escaping Judge = { _ in .write }
  ) {
    self.judge = judge
    self.limit = limit
    self.wanted = wanted
  }

  public var head: ResponseHead? { monitor.withState { $0.head } }
  public var bytes: [UInt8] { monitor.withState { $0.bytes } }

  public func accept(_ head: ResponseHead) throws(DownloadError) -> BodyDisposition {
    monitor.withState { $0.head = head }
    return try judge(head)
  }

  public func write(_ bytes: UnsafeRawBufferPointer) throws(DownloadError) -> SinkDemand {
    let piece = Array(bytes)
    let count = monitor.withState { state in
      state.bytes += piece
      return state.bytes.count
    }
    if count > limit { throw DownloadError(.diskFull, activity: "writing") }
    return count >= wanted ? .enough : .more
  }
}
