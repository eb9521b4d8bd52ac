public import DownloadModel
import Synchronization

/// A scope for each download, so that one can be cancelled while the others go on.
///
/// A mode is free to run its downloads in tasks of their own or one after the other in one task; the latter cannot be
/// cancelled by itself. So each download is a child here, beside another that waits for its cancellation: whichever
/// ends first ends the other. Only a run whose lines may be removed has scopes, since two tasks a file are not free.
public final class DownloadScopes: Sendable {
  private let state = Lock(State())

  private struct State {
    /// Downloads under way, by their requests' numbers.
    var running: [Int: AsyncStream<Never>.Continuation] = [:]
    /// Those that were cancelled and have not ended yet.
    var cancelled: Set<Int> = []
    var queue: RequestQueue?
    var onWithdraw: @Sendable (DownloadRequest) -> Void = { _ in }
  }

  public init() {}

  /// - Parameter onWithdraw: told of a cancelled request that ended in the queue, where nothing was under way.
  public func attach(_ queue: RequestQueue, onWithdraw: @escaping @Sendable (DownloadRequest) -> Void) {
    state.withLock { ($0.queue, $0.onWithdraw) = (queue, onWithdraw) }
  }

  /// Cancels downloads, wherever they are: under way, held in the queue, or about to be given out. Each of them ends,
  /// sooner or later, as cancelled, unless it has just ended otherwise.
  public func cancel(_ ids: Set<Int>) {
    let running = state.withLock { state in
      state.cancelled.formUnion(ids)
      return ids.compactMap { state.running[$0] }
    }
    for scope in running { scope.finish() }
    withdraw(ids)
  }

  /// A download has ended and does not come again under its number, unless that is given out anew.
  public func forget(_ id: Int) { state.withLock { _ = $0.cancelled.remove(id) } }

  /// Whether a download has begun and not ended: it transfers, or waits for an equal one that does.
  public func isUnderWay(_ id: Int) -> Bool { state.withLock { $0.running[id] != nil } }

  func run(_ request: DownloadRequest, _ download: @escaping DownloadStrategy.Download) async {
    let (stream, scope) = AsyncStream<Never>.makeStream()
    let isCancelled = state.withLock { state in
      state.running[request.id] = scope
      return state.cancelled.contains(request.id)
    }
    await withTaskGroup(of: Void.self) { group in
      if isCancelled { group.cancelAll() }
      group.addImmediateTask { await download(request) }
      group.addTask { for await _ in stream {} }
      await group.next()
      group.cancelAll()
    }
    let wasCancelled = state.withLock { state in
      state.running[request.id] = nil
      return state.cancelled.contains(request.id)
    }
    // Its host may have refused it at that moment: then it waits in the queue again.
    if wasCancelled { withdraw([request.id]) }
  }

  private func withdraw(_ ids: Set<Int>) {
    let (queue, onWithdraw) = state.withLock { ($0.queue, $0.onWithdraw) }
    for request in queue?.withdraw(ids) ?? [] { onWithdraw(request) }
  }
}
