@testable import DownloadModel
@testable import TerminalProgress

extension CellLine: ExpressibleByStringLiteral {
  package init(stringLiteral text: String) { self.init(text) }

  /// A line of text in which SGR sequences of one parameter are tones.
  init(_ text: String) {
    self.init(isColored: true)
    for (index, piece) in text.split(separator: "\u{1B}[", omittingEmptySubsequences: false).enumerated() {
      let parts =
        index == 0 ? ["0", piece] : piece.split(separator: "m", maxSplits: 1, omittingEmptySubsequences: false)
      append(String(parts[1]), UInt8(parts[0]).flatMap { Tone(rawValue: $0) } ?? .plain)
    }
  }
}

/// Short ways to say what a run looks like.
enum Scene {
  static let words = ProgressMessages(
    failure: { error in
      if case .http(let status) = error.cause { return "HTTP \(status)" }
      return error.code.rawValue
    },
    rejection: { "\($0.list), line \($0.line ?? 0): no address: \($0.text)" })

  static let environment = TerminalEnvironment(
    isTerminal: true, variables: ["TERM": "xterm-256color", "LANG": "en_US.UTF-8"])

  static func address(_ text: String) throws -> Address { try Address(text) }

  static func request(_ id: Int, _ name: String? = nil) throws -> DownloadRequest {
    DownloadRequest(id: id, address: try Address("https://example.org/\(name ?? "file-\(id).bin")"))
  }

  static func active(
    _ id: Int, _ name: String? = nil, at position: Int64 = 0, from start: Int64 = 0, of total: Int64? = nil
  ) throws -> ProgressSample.ActiveDownload {
    let meter = TransferMeter()
    meter.begin(at: start, total: total)
    meter.add(Int(position - start))
    return ProgressSample.ActiveDownload(id: id, address: try request(id, name).address, meter: meter)
  }

  /// A file whose name was taken.
  static func renamed(_ path: String, from wanted: String, resumed: Int64 = 0) -> DownloadOutcome {
    var outcome = DownloadOutcome(kind: .fetched, path: path, size: 5, resumed: resumed)
    outcome.renamedFrom = wanted
    return outcome
  }

  static func done(_ id: Int, _ name: String? = nil, size: Int64 = 4096) throws -> ProgressEvent {
    let name = name ?? "file-\(id).bin"
    return .ended(
      try request(id, name),
      .success(DownloadOutcome(kind: .fetched, path: "/tmp/out/\(name)", size: size, transferred: size)))
  }

  static func failed(_ id: Int, _ name: String? = nil, status: Int = 404) throws -> ProgressEvent {
    .ended(
      try request(id, name), .failure(DownloadError(.status, cause: .http(status: status))))
  }

  static func sample(
    _ active: [ProgressSample.ActiveDownload] = [], _ events: [ProgressEvent] = [], received: Int64 = 0,
    listed: Int = 0,
    complete: Bool = true, fetched: Int = 0, failed: Int = 0, finishedBytes: Int64 = 0
  ) -> ProgressSample {
    var tally = ProgressTally()
    tally.listed = listed
    tally.listIsComplete = complete
    tally.fetched = fetched
    tally.failed = failed
    tally.finishedBytes = finishedBytes
    return ProgressSample(tally: tally, received: received, active: active, events: events)
  }
}
