public import DownloadModel

/// A list of downloads, and what happens to its files.
///
/// Nothing begins before it is iterated. Each iteration downloads the list once more; with a cache folder, what is
/// there is not fetched again.
///
/// - Cancellation: when the iterating task is cancelled, or the loop is left early, downloads under way end at once,
///   and keep what can be resumed. A cancelled reader still gets the outcome of each file that had begun; then
///   `DownloadError.cancelled` is thrown.
/// - Backpressure: while 1024 outcomes wait to be read, no further file begins. Progress is coalesced.
/// - Throws, from the iteration: `.cancelled`; `.closed` when the session is closed; what keeps all further files from
///   being written, such as a full disk. The failure of one file is the event `failed`.
public struct DownloadEvents: AsyncSequence, Sendable {
  public typealias Element = DownloadEvent
  public typealias Failure = DownloadError

  let begin: @Sendable () -> (call: ListCall, work: Task<Void, Never>?)

  public func makeAsyncIterator() -> Iterator { Iterator(owner: Owner(begin())) }

  /// Ends the downloads when they have no reader any more.
  fileprivate final class Owner: Sendable {
    let call: ListCall
    /// Nil in a closed session.
    let work: Task<Void, Never>?

    init(_ begun: (call: ListCall, work: Task<Void, Never>?)) { (call, work) = begun }

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
      // All outcomes are there once the work has ended.
      owner.cancel()
      await owner.work?.value
      return try owner.call.takeEvent()?.get() ?? nil
    }
  }
}
