import Synchronization

/// Requests one response and passes its body to a sink.
package protocol Transport: Sendable {
  /// Starts one transfer. Returns when it has ended, or as soon as the sink has called its body `.splittable`; then the
  /// task that started it must await it (`RunningTransfer.receipt`). Cancelling that task removes the transfer at once,
  /// unless the sink keeps it (`ByteSink.keep`).
  nonisolated(nonsending) func run(
    _ transfer: TransferRequest, into sink: any ByteSink
  ) async throws(DownloadError) -> TransferStage

  /// Ends the transfers of a file that was given up (`TransferMeter.stop`), unless the sink keeps them. None of it may
  /// start afterwards.
  func cancel(_ meter: TransferMeter) async

  /// Whether a rate limit slows transfers from that URL: more of them gain nothing.
  func isAtLimit(at place: Address) -> Bool
}

extension Transport {
  package func isAtLimit(at place: Address) -> Bool { false }
  package func cancel(_ meter: TransferMeter) async {}

  /// Runs one transfer to its end; throws what `run` throws.
  package nonisolated(nonsending) func fetch(
    _ transfer: TransferRequest, into sink: any ByteSink
  ) async throws(DownloadError) -> TransferReceipt {
    switch try await run(transfer, into: sink) {
    case .ended(let receipt): return receipt
    case .underWay(let running): return try await running.receipt()
    }
  }
}

package enum SinkDemand: Sendable, Equatable { case more, enough }

/// The state of a transfer when `Transport.run` returns.
package enum TransferStage: Sendable {
  case ended(TransferReceipt)
  /// The sink called its body `.splittable`: the task that started the transfer must now await it.
  case underWay(RunningTransfer)
}
