/// How far a transfer has come when `Transport.run` returns.
public enum TransferStage: Sendable {
  case ended(TransferReceipt)
  /// The sink called its body `.splittable`, and the body is arriving. The task that began the transfer must now await
  /// it.
  case underWay(RunningTransfer)
}

/// A transfer that goes on while other work is done: its body is arriving, or the sink kept it when its task was
/// cancelled (`ByteSink.keep`). One task at a time awaits it, or calls `cancel`.
///
/// A lock and not an actor, because the transport's thread ends it and must not wait.
public final class RunningTransfer: Sendable {
  public typealias End = Result<TransferReceipt, DownloadError>

  /// One call of `receipt`. A cancellation names its waiter, so that a late one cannot hit the task that awaits the
  /// transfer next.
  public struct Waiter: Sendable, Equatable { fileprivate let number: Int }

  private struct State {
    var answer: (address: String?, delay: Duration)?
    var end: End?
    var lastWaiter = 0
    /// The last waiter from which the transfer was detached; all waiters before it are detached too.
    var detached: (waiter: Waiter, error: DownloadError)?
  }

  private let cancelTransfer: @Sendable (Waiter?) -> Void
  private let state = Waiters(State())

  /// - Parameter cancel: called with a waiter, tells the transport that the waiter's task was cancelled, and then the
  ///   sink may keep the transfer; called with nil, ends the transfer. Called from any thread, also after the transfer
  ///   has ended.
  public init(cancel: @escaping @Sendable (Waiter?) -> Void) { cancelTransfer = cancel }

  /// The address that answers, without credentials, where redirects led away from the requested one; nil also until
  /// there is an answer.
  public var effectiveURL: String? { state.withLock { $0.answer?.address } }

  /// The time from the start of the transfer to the first byte of its answer, which another transfer would take at
  /// least. Zero until there is an answer.
  public var delay: Duration { state.withLock { $0.answer?.delay ?? .zero } }

  /// Waits for the end, or returns the stored result of a transfer that has ended. Cancelling the task ends the
  /// transfer, unless the sink keeps it (`ByteSink.keep`): then another task may await it.
  public func receipt() async throws(DownloadError) -> TransferReceipt {
    let waiter = state.withLock { state in
      state.lastWaiter += 1
      return Waiter(number: state.lastWaiter)
    }
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

  /// Ends the transfer without waiting for its end; does nothing if it has ended. The sink cannot keep it.
  public func cancel() { cancelTransfer(nil) }

  // MARK: For the transport

  /// The head has come, and the sink accepted it.
  public func answered(by address: String?, after delay: Duration) {
    state.withLock { $0.answer = (address, delay) }
  }

  /// The sink kept the transfer when the waiter's task was cancelled: the waiter gets the error, and the transfer goes
  /// on.
  public func detach(_ waiter: Waiter, _ error: DownloadError) {
    state.withLock { state in
      if state.detached.map({ $0.waiter.number < waiter.number }) ?? true { state.detached = (waiter, error) }
    }
  }

  /// The transfer has ended. Called once.
  public func end(_ result: End) { state.withLock { $0.end = result } }
}
