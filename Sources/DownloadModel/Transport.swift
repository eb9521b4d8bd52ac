/// Fetches one response and passes its body to a sink.
public protocol Transport: Sendable {
  /// Begins one transfer. Returns when it has ended, or as soon as the sink has called its body `.splittable`; then the
  /// task that began it must await it (`RunningTransfer.receipt`). Cancelling that task removes the transfer at once,
  /// unless the sink keeps it (`ByteSink.keep`).
  nonisolated(nonsending) func run(
    _ transfer: TransferRequest, into sink: any ByteSink
  ) async throws(DownloadError) -> TransferStage

  /// Ends the transfers that fill a file, without asking the sink to keep them; false if there were none.
  func cancel(_ meter: TransferMeter) async -> Bool
}

extension Transport {
  public func cancel(_ meter: TransferMeter) async -> Bool { false }

  /// Runs one transfer to its end; throws what `run` throws.
  public nonisolated(nonsending) func fetch(
    _ transfer: TransferRequest, into sink: any ByteSink
  ) async throws(DownloadError) -> TransferReceipt {
    switch try await run(transfer, into: sink) {
    case .ended(let receipt): return receipt
    case .underWay(let running): return try await running.receipt()
    }
  }
}

/// One GET (RFC 9110 §9.3.1) that the transport is to send.
public struct TransferRequest: Sendable {
  public var address: Address
  /// First byte wanted (`Range: bytes=N-`, RFC 9110 §14.2); nil asks for the whole file.
  public var rangeStart: Int64?
  /// The offset behind the last byte wanted (`Range: bytes=N-M`); nil asks for all that follows.
  public var rangeEnd: Int64?
  /// Further header lines (`If-Range: "v1"`), in addition to those of every request.
  public var headerLines: [String]
  /// How long it stayed unanswered before it was returned (`DownloadError.overtaken`); nil for the first time.
  public var waited: Duration?
  /// Is told what the transfer waits for.
  public var meter: TransferMeter?
  /// Of a further segment: the meter of its file.
  public var segmentOf: TransferMeter?
  private let provenance: Provenance
  private var ownLines: [String] = []

  public init(
    address: Address, rangeStart: Int64? = nil, rangeEnd: Int64? = nil, headerLines: [String] = [],
    meter: TransferMeter? = nil, provenance: Provenance = .user
  ) {
    (self.address, self.provenance, self.meter) = (address, provenance, meter)
    (self.rangeStart, self.rangeEnd, self.headerLines) = (rangeStart, rangeEnd, headerLines)
  }

  /// For a request, with the header lines that its line has for it alone.
  public init(for request: DownloadRequest) {
    let isHome = !request.isAtMirror || request.source.isSameOrigin(as: request.address)
    let provenance = request.provenance
    self.init(address: request.source, provenance: isHome || provenance == .user ? provenance : .stranger)
    if isHome { ownLines = request.headerLines }
  }

  /// The header lines that a list's line has for this address alone: for its own origin, whoever wrote the list.
  public func ownLines(for destination: Address) -> [String] {
    ownLines.isEmpty || !destination.isSameOrigin(as: address) ? [] : ownLines
  }

  /// Whether what the user gave goes with this request to a destination: header lines, cookies, client certificate, a
  /// login that names no host. Not to another origin, and not where only a list at an address names it (HTTP rule 42).
  public func isHome(_ destination: Address) -> Bool {
    provenance != .stranger && destination.isSameOrigin(as: address)
  }
}

public struct TransferReceipt: Sendable, Equatable {
  public var status: Int
  /// Body bytes that arrived for the sink, as the server sent them: for a decoded body, the coded bytes.
  public var bodyBytes: Int64
  /// What the end of the body proves (RFC 9112 §6.3).
  public var proof: Proof
  /// The address that answered, where redirects led to another one.
  public var effectiveURL: String?

  public init(status: Int, bodyBytes: Int64, proof: Proof, effectiveURL: String? = nil) {
    (self.status, self.bodyBytes, self.proof, self.effectiveURL) = (status, bodyBytes, proof, effectiveURL)
  }
}

/// Receives a response. Called on the transport's own thread, so it must not wait for anything but the disk.
public protocol ByteSink: Sendable {
  /// Judges status, headers and range before a byte of the body is delivered.
  func accept(_ head: ResponseHead) throws(DownloadError) -> BodyDisposition
  /// Takes the next bytes of the body, in order; the pointer is valid during the call only.
  /// - Returns: `.enough` when no more are wanted: the transfer ends without a failure.
  func write(_ bytes: UnsafeRawBufferPointer) throws(DownloadError) -> SinkDemand
  /// The task that awaits the transfer was cancelled. A sink for which another task waits keeps the transfer: that task
  /// then awaits or cancels `running`, the same object each time.
  /// - Returns: false to have the transfer removed at once.
  func keep(_ running: RunningTransfer) -> Bool
}

extension ByteSink {
  public func keep(_ running: RunningTransfer) -> Bool { false }
}

public enum SinkDemand: Sendable, Equatable { case more, enough }

public enum BodyDisposition: Sendable, Equatable {
  case write
  /// The body is long, so that other transfers could fetch segments of it meanwhile.
  case splittable
  /// Remove the content codings that the head names (RFC 9110 §8.4), all of which are known (`ContentCoding`).
  case decode
  /// The body is not wanted: a short one is read and dropped, so that the connection can be kept.
  case drain
  /// The rest is not wanted: the transfer ends without a failure.
  case enough
}

/// How far a transfer has come when `Transport.run` returns.
public enum TransferStage: Sendable {
  case ended(TransferReceipt)
  /// The sink called its body `.splittable`: the task that began the transfer must now await it.
  case underWay(RunningTransfer)
}

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
