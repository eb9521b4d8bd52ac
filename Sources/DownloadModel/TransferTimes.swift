/// When one transfer did what, for reports: a request with the redirects that it followed.
public struct TransferTimes: Sendable, Equatable {
  /// Of the request, without credentials (`Address.key`).
  public var address: String
  /// On CLOCK_MONOTONIC, in nanoseconds.
  public var begin: UInt64
  /// From the start until the host's address was known. This and the next two are nil on a connection that was there.
  public var lookedUp: Duration?
  public var connected: Duration?
  /// Until TLS was agreed on.
  public var secured: Duration?
  public var firstByte: Duration?
  /// Until the last byte, or the failure.
  public var end: Duration
  public var bytes: Int64 = 0
  public var connections = 0
  public var requests = 1
  /// Nil without an answer.
  public var status: Int?
  public var hasFailed = false
  public var isSegment = false

  public init(address: String, begin: UInt64, end: Duration) {
    (self.address, self.begin, self.end) = (address, begin, end)
  }
}

/// What is known of a transfer under way beside its bytes.
public struct TransferDetails: Sendable, Equatable {
  /// Address and port of the other side; nil while there is no connection.
  public var peer: String?
  /// Such as "HTTP/1.1"; nil before an answer.
  public var httpVersion: String?
  public var isReused = false
  /// From the start of the current request; nil until it is so far, and where it did not happen.
  public var lookedUp: Duration?
  public var connected: Duration?
  public var secured: Duration?
  public var firstByte: Duration?

  public init() {}
}
