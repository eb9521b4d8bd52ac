package import DownloadModel

/// What is known of a run beside its time.
package struct RunDetails: Sendable, Equatable {
  /// Those that ended.
  package var transfers: [Transfer] = []
  /// When each file stood under its name, since the start of the run, by its address without credentials.
  package var ends: [String: Duration] = [:]
  /// How many bytes of each file were fetched, by its address: transfers also bring some twice, or for nothing.
  package var bytes: [String: Int64] = [:]
  /// All threads of the process.
  package var processorTime = Duration.zero
  /// Bytes of the process at their peak; nil where the kernel does not tell.
  package var peakMemory: Int64?
  package var retries = 0
  /// For a host that refused all requests.
  package var waited = Duration.zero
  /// Files under way at a time, at most.
  package var mostAtOnce = 0
  /// How many connections hosts were found to take, where they take fewer than were asked of them.
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

  /// The median time from the start of a transfer to its first byte; nil without an answer.
  package var timeToFirstByte: Duration? { SampleSummary(transfers.compactMap(\.times.firstByte))?.median }

  /// - Parameter start: of the run, in nanoseconds of the clock of the transfers.
  package init(transfers: [TransferTimes], since start: UInt64, ends: [String: Duration] = [:]) {
    self.transfers = transfers.map { Transfer($0, since: start) }.sorted { $0.begin < $1.begin }
    self.ends = ends
  }
}
