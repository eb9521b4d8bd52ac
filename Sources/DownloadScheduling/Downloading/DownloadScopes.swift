package import DownloadModel
import Synchronization

/// A scope for each download, so that one can be cancelled while the others go on, also in a strategy that runs all in
/// one task. Each download is a child beside another that waits for its cancellation: whichever ends first ends the
/// other. Only a run whose lines may be removed has scopes, since two tasks a file are not free.
package final class DownloadScopes: Sendable {
  private let state = Lock(State())

  private struct State {
    /// By the numbers of their requests.
    var running: [Int: AsyncStream<Never>.Continuation] = [:]
    /// Those that were cancelled and have not ended yet.
    var cancelled: Set<Int> = []
    /// Ends those that the queue holds.
    var withdraw: @Sendable (Set<Int>) -> Void = { _ in }
  }

  package init() {}

  /// - Parameter onWithdraw: told of a cancelled request that ended in the queue, where nothing was under way.
  package func attach(_ queue: RequestQueue, onWithdraw: @escaping @Sendable (DownloadRequest) -> Void) {
    state.withLock { $0.withdraw = { for request in queue.withdraw($0) { onWithdraw(request) } } }
  }

  /// Cancels downloads: under way, held in the queue, or about to be given out. Each ends as cancelled, unless it has
  /// just ended otherwise.
  package func cancel(_ ids: Set<Int>) {
    let (running, withdraw) = state.withLock { state in
      state.cancelled.formUnion(ids)
      return (ids.compactMap { state.running[$0] }, state.withdraw)
    }
    for scope in running { scope.finish() }
    withdraw(ids)
  }

  /// A download has ended; its number may be given out anew.
  package func forget(_ id: Int) { state.withLock { _ = $0.cancelled.remove(id) } }

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
    let withdraw = state.withLock { state in
      state.running[request.id] = nil
      return state.cancelled.contains(request.id) ? state.withdraw : nil
    }
    // Its host may have refused it at that moment: then it waits in the queue again.
    withdraw?([request.id])
  }
}
