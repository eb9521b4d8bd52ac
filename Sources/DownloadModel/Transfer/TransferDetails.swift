/// Details of a transfer in flight beside its bytes.
package struct TransferDetails: Sendable, Equatable {
  /// Address and port of the peer; `nil` without a connection.
  package var peer: String?
  /// Such as "HTTP/1.1"; `nil` before an answer.
  package var httpVersion: String?
  package var isReused = false
  /// Times from the start of the current request; `nil` for steps that have not happened.
  package var lookedUp: Duration?
  package var connected: Duration?
  package var secured: Duration?
  package var firstByte: Duration?

  package init() {}
}
