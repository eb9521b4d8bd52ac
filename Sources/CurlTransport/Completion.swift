import DownloadModel

/// Reports the end of a transfer. Used on the loop's thread only.
struct Completion {
  /// Unsafe in name only: a stored continuation is resumed only here and removed in the same step, and `CurlAgent`
  /// calls `end` once. The checked kind would cost an allocation for each file.
  typealias Continuation = UnsafeContinuation<Result<TransferStage, DownloadError>, Never>

  let id: TransferID
  /// The proxy whose login this transfer tries while other transfers wait for the result.
  private let triedProxy: Proxy?
  private var target: Target

  private enum Target {
    /// The task that started the transfer waits in `Transport.run`.
    case starter(Continuation)
    /// The starter has continued: it received the running transfer, or it was cancelled and the sink kept the transfer.
    case running(RunningTransfer)
  }

  init(_ id: TransferID, _ triedProxy: Proxy?, _ continuation: Continuation) {
    self.id = id
    self.triedProxy = triedProxy
    target = .starter(continuation)
  }

  /// The sink accepted the head. A splittable body resumes the starter in a job of its own, outside libcurl's callback.
  mutating func headArrived(isSplittable: Bool, on loop: CurlLoop, _ answer: @autoclosure () -> RunningTransfer.Answer)
  {
    switch target {
    case .running(let running): running.answered(answer())
    case .starter(let continuation):
      guard isSplittable else { return }
      let running = makeRunning(on: loop)
      running.answered(answer())
      target = .running(running)
      continuation.resume(returning: .success(.underWay(running)))
    }
  }

  /// Asks the sink whether to keep a cancelled transfer; if so, the cancelled task gets the error.
  /// - Parameter answer: `nil` before the sink accepted the head.
  mutating func isKept(
    by sink: any ByteSink, after reason: Cancellation.Reason, on loop: CurlLoop, _ answer: RunningTransfer.Answer?,
    _ error: DownloadError
  ) -> Bool {
    switch (target, reason) {
    case (.starter(let continuation), .starter):
      let running = makeRunning(on: loop)
      if let answer { running.answered(answer) }
      guard sink.keep(running) else { return false }
      target = .running(running)
      continuation.resume(returning: .failure(error))
      return true
    // The starter has received it meanwhile, and cancels again as a waiter (`CurlTransport.run`).
    case (.running, .starter): return true
    case (.running(let running), .waiter(let waiter)):
      guard sink.keep(running) else { return false }
      running.detach(waiter, error)
      return true
    case (_, .order), (.starter, .waiter): return false
    }
  }

  func end(_ result: Result<TransferReceipt, DownloadError>) {
    triedProxy?.left()
    switch target {
    case .starter(let continuation): continuation.resume(returning: result.map { .ended($0) })
    case .running(let running): running.end(result)
    }
  }

  private func makeRunning(on loop: CurlLoop) -> RunningTransfer {
    RunningTransfer { [id] waiter in
      loop.inbox.cancel(Cancellation(id: id, reason: waiter.map { .waiter($0) } ?? .order))
    }
  }
}
