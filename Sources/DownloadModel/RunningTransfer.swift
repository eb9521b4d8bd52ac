/// A transfer that goes on while other work is done: its body is arriving, or the sink kept it when its task was
/// cancelled (`ByteSink.keep`). One task at a time awaits it, or calls `cancel`.
public final class RunningTransfer: Sendable {
  public typealias End = Result<TransferReceipt, DownloadError>

  /// One call of `receipt`, so that a late cancellation cannot hit the task that awaits the transfer next.
  public struct Waiter: Sendable, Equatable { fileprivate let number: Int }

  /// The address that answered, where redirects led to another, and the time from the start to the first byte.
  public typealias Answer = (address: String?, delay: Duration)

  private struct State {
    var answer: Answer?
    var end: End?
    var lastWaiter = 0
    /// The last waiter from which the transfer was detached, as were all before it.
    var detached: (waiter: Waiter, error: DownloadError)?
  }

  private let cancelTransfer: @Sendable (Waiter?) -> Void
  private let state = Waiters(State())

  /// - Parameter cancel: with a waiter, tells the transport that its task was cancelled, so that the sink may keep the
  ///   transfer; with nil, ends the transfer. Called from any thread, also after the end.
  public init(cancel: @escaping @Sendable (Waiter?) -> Void) { cancelTransfer = cancel }

  /// Where redirects led to, without credentials; nil for nowhere, and until there is an answer.
  public var effectiveURL: String? { state.withLock { $0.answer?.address } }

  /// From the start to the first byte of the answer, which another transfer would take at least; zero until then.
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

  /// Ends the transfer, without waiting and without asking the sink to keep it.
  public func cancel() { cancelTransfer(nil) }

  // MARK: For the transport

  /// The head has come, and the sink accepted it.
  public func answered(_ answer: Answer) { state.withLock { $0.answer = answer } }

  /// The sink kept the transfer when the waiter's task was cancelled: the waiter gets the error.
  public func detach(_ waiter: Waiter, _ error: DownloadError) {
    state.withLock { state in
      if state.detached.map({ $0.waiter.number < waiter.number }) ?? true { state.detached = (waiter, error) }
    }
  }

  /// Called once.
  public func end(_ result: End) { state.withLock { $0.end = result } }
}

/// What is known of a transfer under way beside its bytes.
public struct TransferDetails: Sendable, Equatable {
  /// Address and port of the other side; nil while there is no connection.
  public var peer: String?
  /// Such as "HTTP/1.1"; nil before an answer.
  public var httpVersion: String?
  public var isReused = false
  /// From the start of the current request; nil until it is so far, and where it did not happen.
  public var lookedUp: Duration?
  public var connected: Duration?
  public var secured: Duration?
  public var firstByte: Duration?

  public init() {}
}

/// When one transfer did what, for reports: a request with the redirects that it followed.
public struct TransferTimes: Sendable, Equatable {
  /// Of the request, without credentials (`Address.key`).
  public var address: String
  /// On CLOCK_MONOTONIC, in nanoseconds.
  public var begin: UInt64
  /// From the start until the host's address was known. This and the next two are nil on a connection that was there.
  public var lookedUp: Duration?
  public var connected: Duration?
  /// Until TLS was agreed on.
  public var secured: Duration?
  public var firstByte: Duration?
  /// Until the last byte, or the failure.
  public var end: Duration
  public var bytes: Int64 = 0
  public var connections = 0
  public var requests = 1
  /// Nil without an answer.
  public var status: Int?
  public var hasFailed = false
  public var isSegment = false

  public init(address: String, begin: UInt64, end: Duration) {
    (self.address, self.begin, self.end) = (address, begin, end)
  }
}
