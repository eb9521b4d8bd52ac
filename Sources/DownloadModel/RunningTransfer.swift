import Synchronization

/// How far a transfer had come when its starter was told.
public enum TransferStage: Sendable {
  case ended(TransferReceipt)
  case underWay(RunningTransfer)
}

/// A transfer whose body is arriving: to be awaited by whoever started it.
///
/// A lock and not an actor: the transport's thread ends it and may not wait.
public final class RunningTransfer: Sendable {
  public typealias End = Result<TransferReceipt, DownloadError>

  /// The address that answers, without credentials, where redirects led away from the one that was asked.
  public let answeredBy: String?
  /// From the start of the transfer to the first byte of its answer: what another one would take, at the least.
  public let delay: Duration
  private let cancel: @Sendable () -> Void
  private let state = Mutex(State.running)

  private enum State {
    case running
    case awaited(CheckedContinuation<End, Never>)
    case ended(End)
  }

  /// - Parameter cancel: ends the transfer; from any thread, also when it has ended.
  public init(answeredBy: String?, delay: Duration, cancel: @escaping @Sendable () -> Void) {
    self.answeredBy = answeredBy
    self.delay = delay
    self.cancel = cancel
  }

  /// Called once, by the transport.
  public func end(_ result: End) {
    let waiter = state.withLock { state -> CheckedContinuation<End, Never>? in
      defer { state = .ended(result) }
      if case .awaited(let continuation) = state { return continuation }
      return nil
    }
    waiter?.resume(returning: result)
  }

  /// Waits for the end; to be called once. Cancelling the task ends the transfer.
  public func receipt() async throws(DownloadError) -> TransferReceipt {
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let early = state.withLock { state -> End? in
          if case .ended(let result) = state { return result }
          state = .awaited(continuation)
          return nil
        }
        if let early { continuation.resume(returning: early) }
      }
    } onCancel: {
      cancel()
    }
    return try result.get()
  }
}
