package import DownloadModel

/// The measurements of a run beside its time.
package struct RunDetails: Sendable, Equatable {
  /// The transfers that ended.
  package var transfers: [TransferTimes]
  /// Of the run, in nanoseconds on the clock of the transfers.
  package var start: UInt64
  /// When each file got its name, since the start of the run, by its URL without credentials.
  package var ends: [String: Duration]
  /// Downloaded bytes of each file, by its URL. Transfers may receive more, because they read some bytes twice or in
  /// vain.
  package var bytes: [String: Int64] = [:]
  /// Of all threads of the process.
  package var processorTime = Duration.zero
  /// The peak of the process in bytes; `nil` if the kernel does not report it.
  package var peakMemory: Int64?
  /// Time that the run waited for a host that refused all requests.
  package var waited = Duration.zero
  /// The most files in flight at a time.
  package var mostAtOnce = 0
  /// The connections that hosts were found to accept, if that is fewer than requested.
  package var hostLimits: [String: Int] = [:]

  package init(transfers: [TransferTimes] = [], since start: UInt64 = 0, ends: [String: Duration] = [:]) {
    self.transfers = transfers
    self.start = start
    self.ends = ends
  }

  package var connections: Int { transfers.reduce(0) { $0 + $1.connections } }
  package var requests: Int { transfers.reduce(0) { $0 + $1.requests } }
  package var retries: Int { transfers.count { $0.hasFailed && !$0.isSegment } }

  /// The median time from the start of a transfer to its first byte; `nil` without an answer.
  package var timeToFirstByte: Duration? { SampleSummary(transfers.compactMap(\.firstByte))?.median }

  /// Since the start of the run.
  func begin(of transfer: TransferTimes) -> Duration {
    .nanoseconds(Int64(clamping: transfer.begin) - Int64(clamping: start))
  }
}
