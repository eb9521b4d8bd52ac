/// What is known of a transfer under way beyond its bytes: for a person who asks.
public struct TransferDetails: Sendable, Equatable {
  /// Address and port of the other side; nil while there is no connection.
  public var peer: String?
  /// Such as "HTTP/1.1"; nil before an answer.
  public var httpVersion: String?
  /// Whether the connection was there already.
  public var isReused = false
  /// From the start of the transfer until the host's address was known. All times are nil until it is so far, and where
  /// it did not happen.
  public var lookedUp: Duration?
  public var connected: Duration?
  /// Until TLS was agreed on.
  public var secured: Duration?
  public var firstByte: Duration?

  public init() {}
}
