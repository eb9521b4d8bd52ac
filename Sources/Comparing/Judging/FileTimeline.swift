import DownloadModel

/// The phases of one file in a run: a row of the waterfall.
package struct FileTimeline: Sendable {
  package struct Span: Sendable, Equatable {
    package let phase: FilePhase
    package let begin: Duration
    package let end: Duration

    var length: Duration { end - begin }
  }

  package let address: String
  /// Consecutive, from the start of the run to the end of the file.
  package private(set) var spans: [Span] = []
  package let bytes: Int64
  package let hasFailed: Bool

  package var begin: Duration { spans.first { $0.phase != .queued }?.begin ?? .zero }
  package var end: Duration { spans.last?.end ?? .zero }

  /// Every file of a run, in the order in which they started. Further segments are omitted: they run while the file is
  /// received.
  package static func all(_ details: RunDetails) -> [FileTimeline] {
    let byAddress = Dictionary(grouping: details.transfers, by: \.address)
    return byAddress.map { FileTimeline($0, $1, in: details) }
      .sorted { ($0.begin, $0.address) < ($1.begin, $1.address) }
  }

  private init(_ address: String, _ transfers: [TransferTimes], in run: RunDetails) {
    self.address = address
    bytes = run.bytes[address] ?? transfers.reduce(0) { $0 + $1.bytes }
    let end = run.ends[address]
    hasFailed = end == nil
    for times in transfers.sorted(by: { $0.begin < $1.begin }) where !times.isSegment {
      let begin = run.begin(of: times)
      add(.queued, until: begin)
      add(.lookingUp, until: times.lookedUp.map { begin + $0 })
      add(.connecting, until: times.connected.map { begin + $0 })
      add(.securing, until: times.secured.map { begin + $0 })
      add(.waiting, until: begin + (times.firstByte ?? times.end))
      if times.firstByte != nil { add(.receiving, until: begin + times.end) }
    }
    // Bytes that other transfers receive for it arrive until the end.
    add(.finishing, until: end)
  }

  private mutating func add(_ phase: FilePhase, until time: Duration?) {
    if let time, time > end { spans.append(Span(phase: phase, begin: end, end: time)) }
  }
}
