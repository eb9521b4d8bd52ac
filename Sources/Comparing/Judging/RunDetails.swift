package import DownloadModel

/// The measurements of a run beside its time.
package struct RunDetails: Sendable, Equatable {
  /// The transfers that ended.
  package var transfers: [Transfer] = []
  /// When each file got its name, since the start of the run, by its URL without credentials.
  package var ends: [String: Duration] = [:]
  /// Downloaded bytes of each file, by its URL. Transfers may receive more, because they read some bytes twice or in
  /// vain.
  package var bytes: [String: Int64] = [:]
  /// Of all threads of the process.
  package var processorTime = Duration.zero
  /// The peak of the process in bytes; `nil` if the kernel does not report it.
  package var peakMemory: Int64?
  package var retries = 0
  /// Time that the run waited for a host that refused all requests.
  package var waited = Duration.zero
  /// The most files in flight at a time.
  package var mostAtOnce = 0
  /// The connections that hosts were found to accept, if that is fewer than requested.
  package var hostLimits: [String: Int] = [:]

  package init() {}

  package struct Transfer: Sendable, Equatable {
    package let begin: Duration
    package var times: TransferTimes

    fileprivate init(_ times: TransferTimes, since start: UInt64) {
      self.times = times
      begin = .nanoseconds(Int64(clamping: times.begin) - Int64(clamping: start))
    }

    var end: Duration { begin + times.end }
  }

  package var connections: Int { transfers.reduce(0) { $0 + $1.times.connections } }
  package var requests: Int { transfers.reduce(0) { $0 + $1.times.requests } }

  /// The median time from the start of a transfer to its first byte; `nil` without an answer.
  package var timeToFirstByte: Duration? { SampleSummary(transfers.compactMap(\.times.firstByte))?.median }

  /// - Parameter start: of the run, in nanoseconds on the clock of the transfers.
  package init(transfers: [TransferTimes], since start: UInt64, ends: [String: Duration] = [:]) {
    self.transfers = transfers.map { Transfer($0, since: start) }.sorted { $0.begin < $1.begin }
    self.ends = ends
  }
}
