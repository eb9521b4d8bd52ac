public import DownloadModel

/// A list of downloads, and the events of its files.
///
/// Nothing starts before it is iterated. Each iteration downloads the list again; with a cache folder, existing files
/// are not downloaded again.
///
/// - Cancellation: when the iterating task is cancelled, or the loop is left early, downloads in flight end at once,
///   and keep what can be resumed. A cancelled reader still gets the outcome of each file that had started; then
///   `DownloadError.cancelled` is thrown.
/// - Backpressure: while 1024 outcomes are unread, no further file starts. Progress is coalesced.
/// - Throws, from the iteration: `.cancelled`; `.closed` when the session is closed; a failure that prevents writing
///   any further file, such as a full disk. The failure of one file is the event `failed`.
public struct DownloadEvents: AsyncSequence, Sendable {
  public typealias Element = DownloadEvent
  public typealias Failure = DownloadError

  let begin: @Sendable () -> Owner

  public func makeAsyncIterator() -> Iterator { Iterator(owner: begin()) }

  /// Ends the downloads when they have no reader any more.
  final class Owner: Sendable {
    let call: ListCall
    /// `nil` in a closed session.
    let work: Task<Void, Never>?

    init(_ call: ListCall, _ work: Task<Void, Never>?) {
      self.call = call
      self.work = work
    }

    deinit { cancel() }

    func cancel() {
      call.stop(.cancelled)
      work?.cancel()
    }
  }

  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let owner: Owner

    public mutating func next() async throws(DownloadError) -> DownloadEvent? { try await next(isolation: nil) }

    public mutating func next(isolation actor: isolated (any Actor)?) async throws(DownloadError) -> DownloadEvent? {
      if !Task.isCancelled, let event = await owner.call.event() { return try event.get() }
      // All outcomes exist once the work has ended.
      owner.cancel()
      await owner.work?.value
      return try owner.call.takeEvent()?.get() ?? nil
    }
  }
}
