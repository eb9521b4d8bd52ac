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

/// What a file does at a time.
package enum FilePhase: String, Sendable, CaseIterable {
  /// It waits for its turn, or between two attempts.
  case queued
  case lookingUp = "lookup"
  case connecting = "connect"
  case securing = "tls"
  case waiting
  case receiving
  /// All of it is there, and is checked and put in its place.
  case finishing
}

/// The way of one file through a run: a row of the waterfall.
package struct FileTimeline: Sendable, Equatable {
  package struct Span: Sendable, Equatable {
    package let phase: FilePhase
    package let begin: Duration
    package let end: Duration

    var length: Duration { end - begin }
  }

  package let address: String
  /// One behind the other, from the start of the run to the end of the file.
  package private(set) var spans: [Span] = []
  package let bytes: Int64
  package let hasFailed: Bool

  package var begin: Duration { spans.first { $0.phase != .queued }?.begin ?? spans.first?.begin ?? .zero }
  package var end: Duration { spans.last?.end ?? .zero }

  /// Every file of a run, in the order in which they began, without further segments: they come while it is received.
  package static func all(_ details: RunDetails) -> [FileTimeline] {
    let byAddress = Dictionary(grouping: details.transfers, by: \.times.address)
    return byAddress.map { address, transfers in
      FileTimeline(address, transfers, bytes: details.bytes[address], end: details.ends[address])
    }.sorted { ($0.begin, $0.address) < ($1.begin, $1.address) }
  }

  private init(_ address: String, _ transfers: [RunDetails.Transfer], bytes: Int64?, end: Duration?) {
    self.address = address
    self.bytes = bytes ?? transfers.reduce(0) { $0 + $1.times.bytes }
    hasFailed = end == nil
    for transfer in transfers.sorted(by: { $0.begin < $1.begin }) where !transfer.times.isSegment {
      let begin = transfer.begin
      let times = transfer.times
      add(.queued, until: begin)
      add(.lookingUp, until: times.lookedUp.map { begin + $0 })
      add(.connecting, until: times.connected.map { begin + $0 })
      add(.securing, until: times.secured.map { begin + $0 })
      add(.waiting, until: begin + (times.firstByte ?? times.end))
      if times.firstByte != nil { add(.receiving, until: transfer.end) }
    }
    // Bytes that other transfers bring of it come until the end.
    add(.finishing, until: end)
  }

  private mutating func add(_ phase: FilePhase, until time: Duration?) {
    if let time, time > end { spans.append(Span(phase: phase, begin: end, end: time)) }
  }
}

/// Sums over all files, so that files side by side count each.
package struct TimeShares: Sendable, Equatable {
  package private(set) var times: [FilePhase: Duration] = [:]

  package init(_ timelines: [FileTimeline]) {
    for span in timelines.lazy.flatMap(\.spans) { times[span.phase, default: .zero] += span.length }
  }

  package subscript(phase: FilePhase) -> Duration { times[phase] ?? .zero }

  /// All but the queue: what the files took themselves.
  var ofFiles: Duration { times.reduce(.zero) { $0 + ($1.key == .queued ? .zero : $1.value) } }
}
