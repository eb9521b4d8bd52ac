/// A transfer that continues while other work is done: its body is arriving, or the sink kept it when its task was
/// cancelled (`ByteSink.keep`). One task at a time awaits it, or calls `cancel`.
package final class RunningTransfer: Sendable {
  package typealias End = Result<TransferReceipt, DownloadError>

  /// One call of `receipt`, so that a late cancellation cannot hit the task that awaits the transfer next.
  package struct Waiter: Sendable, Equatable { fileprivate let number: Int }

  /// The URL that answered, if redirects led to another, and the time from the start to the first byte.
  package typealias Answer = (address: String?, delay: Duration)

  private struct State {
    var answer: Answer?
    var end: End?
    var lastWaiter = 0
    /// The last waiter from which the transfer was detached, as it was from all before it.
    var detached: (waiter: Waiter, error: DownloadError)?
  }

  private let cancelTransfer: @Sendable (Waiter?) -> Void
  private let state = Waiters(State())

  /// - Parameter cancel: with a waiter, tells the transport that its task was cancelled, so that the sink may keep the
  ///   transfer; with `nil`, ends the transfer. Called from any thread, also after the end.
  package init(cancel: @escaping @Sendable (Waiter?) -> Void) { cancelTransfer = cancel }

  /// The target of the redirects, without credentials; `nil` without redirects or before an answer.
  package var effectiveURL: String? { state.withLock { $0.answer?.address } }

  /// Time from the start to the first byte of the answer, a minimum for any other transfer; zero before an answer.
  package var delay: Duration { state.withLock { $0.answer?.delay ?? .zero } }

  /// Waits for the end, or returns the stored result of a transfer that has ended. Cancelling the task ends the
  /// transfer, unless the sink keeps it (`ByteSink.keep`): then another task may await it.
  /// - Parameter meter: of the file for which it is awaited; giving that up is as cancelling the task.
  package func receipt(for meter: TransferMeter? = nil) async throws(DownloadError) -> TransferReceipt {
    let waiter = state.withLock { state in
      state.lastWaiter += 1
      return Waiter(number: state.lastWaiter)
    }
    meter?.onStop { [cancelTransfer] in cancelTransfer(waiter) }
    let result = await state.wait { state -> End? in
      if let detached = state.detached, waiter.number <= detached.waiter.number {
        return .failure(detached.error)
      }
      return state.end
    } onCancel: {
      cancelTransfer(waiter)
    }
    return try result.get()
  }

  /// Ends the transfer, without waiting and without asking the sink to keep it.
  package func cancel() { cancelTransfer(nil) }

  // MARK: For the transport

  /// The head arrived, and the sink accepted it.
  package func answered(_ answer: Answer) { state.withLock { $0.answer = answer } }

  /// The sink kept the transfer when the waiter's task was cancelled: the waiter gets the error.
  package func detach(_ waiter: Waiter, _ error: DownloadError) {
    state.withLock { state in
      if state.detached.map({ $0.waiter.number < waiter.number }) ?? true { state.detached = (waiter, error) }
    }
  }

  /// Called once.
  package func end(_ result: End) { state.withLock { $0.end = result } }
}
