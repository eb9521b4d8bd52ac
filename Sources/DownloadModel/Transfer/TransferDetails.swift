/// What is known of a transfer under way beside its bytes.
package struct TransferDetails: Sendable, Equatable {
  /// Address and port of the other side; nil while there is no connection.
  package var peer: String?
  /// Such as "HTTP/1.1"; nil before an answer.
  package var httpVersion: String?
  package var isReused = false
  /// From the start of the current request; nil until it is so far, and where it did not happen.
  package var lookedUp: Duration?
  package var connected: Duration?
  package var secured: Duration?
  package var firstByte: Duration?

  package init() {}
}
