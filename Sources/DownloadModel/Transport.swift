/// Fetches one response and passes its body to a sink. CurlTransport implements it; tests use fakes.
public protocol Transport: Sendable {
  /// Begins one transfer. Returns when it has ended, or as soon as the sink has called its body `.splittable`; then the
  /// task that began the transfer must await it (`RunningTransfer.receipt`).
  ///
  /// Cancelling the task removes the transfer at once, unless the sink keeps it (`ByteSink.keep`).
  ///
  /// It stays in the caller's isolation, so that between actors on one executor a file costs no hop.
  ///
  /// - Throws: `DownloadError` of the network, of HTTP's framing, or thrown by the sink.
  nonisolated(nonsending) func run(
    _ transfer: TransferRequest, into sink: any ByteSink
  ) async throws(DownloadError) -> TransferStage

  /// Ends the transfers under way that fill a file, as cancelled. The sink is not asked to keep them.
  /// - Returns: whether there were any.
  func cancel(_ meter: TransferMeter) async -> Bool
}

extension Transport {
  /// For transports that know no files.
  public func cancel(_ meter: TransferMeter) async -> Bool { false }

  /// Runs one transfer to its end.
  /// - Returns: what was received, when the sink accepted the response and the body ended as its framing requires.
  /// - Throws: what `run` throws.
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
  /// First byte wanted: sends `Range: bytes=N-` (RFC 9110 §14.2); nil asks for the whole file.
  public var rangeStart: Int64?
  /// The offset behind the last byte wanted: with `rangeStart`, sends `Range: bytes=N-M`; nil asks for all that
  /// follows.
  public var rangeEnd: Int64?
  /// Further header lines (`If-Range: "v1"`), in addition to those of every request.
  public var headerLines: [String]
  /// How long it stayed unanswered before it was returned (`DownloadError.overtaken`); nil for the first time.
  public var waited: Duration?
  /// Is told what the transfer waits for; nil where nobody wants to know.
  public var meter: TransferMeter?
  /// Of a further segment: the meter of its file.
  public var segmentOf: TransferMeter?
  private let provenance: Provenance

  public init(
    address: Address, rangeStart: Int64? = nil, rangeEnd: Int64? = nil, headerLines: [String] = [],
    meter: TransferMeter? = nil, provenance: Provenance = .user
  ) {
    (self.address, self.provenance, self.meter) = (address, provenance, meter)
    (self.rangeStart, self.rangeEnd, self.headerLines) = (rangeStart, rangeEnd, headerLines)
  }

  /// Whether what the user gave goes with this request to a destination: header lines and their cookies, the client
  /// certificate, a login that names no host (HTTP rule 42). Not where a redirect leads to another origin, and not to
  /// an origin that only a list at an address names.
  public func isHome(_ destination: Address) -> Bool {
    provenance != .stranger && destination.isSameOrigin(as: address)
  }
}

/// What a finished transfer was.
public struct TransferReceipt: Sendable, Equatable {
  public var status: Int
  /// Body bytes that arrived for the sink, as the server sent them: for a decoded body, the coded bytes.
  public var bodyBytes: Int64
  /// What the end of the body proves about its length.
  public var framing: Framing
  /// The address that answered, where redirects led to another one.
  public var effectiveURL: String?

  /// How the end of a body was known (RFC 9112 §6.3).
  public enum Framing: Sendable, Equatable {
    /// Content-Length was given and was met.
    case length
    /// The protocol marked the end (last chunk, END_STREAM).
    case marked
    /// Only the closing connection ended it, so a body that was cut short looks the same.
    case closed
  }

  public init(status: Int, bodyBytes: Int64, framing: Framing, effectiveURL: String? = nil) {
    (self.status, self.bodyBytes, self.framing, self.effectiveURL) = (status, bodyBytes, framing, effectiveURL)
  }
}

/// Receives a response. Called on the transport's own thread, so it must not wait for anything but the disk.
public protocol ByteSink: Sendable {
  /// Judges status, headers and range before a byte of the body is delivered.
  func accept(_ head: ResponseHead) throws(DownloadError) -> BodyDisposition
  /// Takes the next bytes of the body, in order; the pointer is valid during the call only.
  /// - Returns: `.enough` when no more are wanted: the transfer ends without a failure.
  func write(_ bytes: UnsafeRawBufferPointer) throws(DownloadError) -> SinkDemand
  /// The task that awaits the transfer was cancelled. A sink for which another task waits keeps the transfer: it then
  /// goes on, and ends as `running`, which that task awaits or cancels.
  /// - Parameter running: the same object each time, also the one that the cancelled task had.
  /// - Returns: false to have the transfer removed at once.
  func keep(_ running: RunningTransfer) -> Bool
}

extension ByteSink {
  public func keep(_ running: RunningTransfer) -> Bool { false }
}

/// Whether a sink wants more bytes.
public enum SinkDemand: Sendable, Equatable { case more, enough }

public enum BodyDisposition: Sendable, Equatable {
  /// Deliver the body to the sink.
  case write
  /// The same, and the body is long, so that other transfers could fetch segments of it meanwhile.
  case splittable
  /// Remove the content codings that the head names (RFC 9110 §8.4), and deliver the decoded bytes. All of them are
  /// known (`ContentCoding`).
  case decode
  /// The answer needs no body; read and drop a short body so that the connection can be kept.
  case drain
  /// The rest is not wanted: the transfer ends without a failure.
  case enough
}
