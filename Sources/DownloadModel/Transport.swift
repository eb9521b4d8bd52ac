/// Fetches one response and hands its body to a sink. CurlTransport is the real one; tests use fakes.
public protocol Transport: Sendable {
  /// Runs one transfer to its end. Cancelling the task removes the transfer at once.
  ///
  /// It stays in the caller's isolation: between actors on one executor a file then costs no hop.
  ///
  /// - Returns: what was received, when the sink took the response and the body ended as its framing says.
  /// - Throws: `DownloadError` of the network, of HTTP's framing, or the one that the sink itself threw.
  nonisolated(nonsending) func fetch(
    _ transfer: TransferRequest, into sink: any BodySink
  ) async throws(DownloadError) -> TransferReceipt

  /// The same, but returns as soon as the sink has called its body `.splittable`, while the body arrives.
  nonisolated(nonsending) func start(
    _ transfer: TransferRequest, into sink: any BodySink
  ) async throws(DownloadError) -> TransferStage
}

extension Transport {
  /// Without parts, a transfer is told of when it has ended.
  public nonisolated(nonsending) func start(
    _ transfer: TransferRequest, into sink: any BodySink
  ) async throws(DownloadError) -> TransferStage {
    .ended(try await fetch(transfer, into: sink))
  }
}

/// One GET (RFC 9110 §9.3.1) as the transport is to send it.
public struct TransferRequest: Sendable {
  public var address: Address
  /// First byte wanted: sends `Range: bytes=N-` (RFC 9110 §14.2); nil asks for the whole file.
  public var rangeStart: Int64?
  /// The byte behind the last one wanted: with `rangeStart`, sends `Range: bytes=N-M`; nil asks for all that follows.
  public var rangeEnd: Int64?
  /// Further header lines (`If-Range: "v1"`), in addition to those of every request.
  public var headerLines: [String]
  /// How long it was left unanswered before it was given back (`DownloadError.overtaken`); nil for the first time.
  public var waited: Duration?

  public init(
    address: Address, rangeStart: Int64? = nil, rangeEnd: Int64? = nil, headerLines: [String] = []
  ) {
    self.address = address
    self.rangeStart = rangeStart
    self.rangeEnd = rangeEnd
    self.headerLines = headerLines
  }
}

/// What a finished transfer was.
public struct TransferReceipt: Sendable, Equatable {
  public var status: Int
  /// Body bytes that arrived for the sink, as the server sent them: of a body that was decoded, the coded ones.
  public var bodyBytes: Int64
  /// What the end of the body proves about its length.
  public var framing: Framing
  /// The address that answered, when redirects led elsewhere.
  public var redirectedTo: String?
  /// Whether a warm connection carried it.
  public var reusedConnection: Bool

  /// How the end of a body was known (RFC 9112 §6.3).
  public enum Framing: Sendable, Equatable {
    /// Content-Length was given and was met.
    case length
    /// The protocol marked the end (last chunk, END_STREAM).
    case marked
    /// Only the closing connection ended it: a cut cannot be told from the end.
    case closed
  }

  public init(
    status: Int, bodyBytes: Int64, framing: Framing, redirectedTo: String? = nil,
    reusedConnection: Bool = false
  ) {
    self.status = status
    self.bodyBytes = bodyBytes
    self.framing = framing
    self.redirectedTo = redirectedTo
    self.reusedConnection = reusedConnection
  }
}

/// Takes a response. Called on the transport's own thread, so it must not wait for anything but the disk.
public protocol BodySink: Sendable {
  /// Judges status, headers and range before a byte of the body is delivered.
  func accept(_ head: ResponseHead) throws(DownloadError) -> BodyDisposition
  /// Takes the next bytes of the body, in order; the pointer is valid during the call only.
  /// - Throws: `.enough` when no more are wanted, which ends the transfer like any other error.
  func write(_ bytes: UnsafeRawBufferPointer) throws(DownloadError)
}

public enum BodyDisposition: Sendable, Equatable {
  /// Deliver the body to the sink.
  case write
  /// The same; and the body is long, and others could fetch parts of it meanwhile.
  case splittable
  /// Take the content codings off that the head names (RFC 9110 §8.4), and deliver what was coded. All of them are known
  /// (`ContentCoding`).
  case decode
  /// The answer is in the head; read and drop a short body so that the connection can be kept.
  case drain
}
