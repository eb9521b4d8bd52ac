/// The times of one transfer, for reports: a request with the redirects that it followed.
package struct TransferTimes: Sendable, Equatable {
  /// The URL of the request, without credentials (`Address.key`).
  package var address: String
  /// On CLOCK_MONOTONIC, in nanoseconds.
  package var begin: UInt64
  /// Time from the start until the host's address was known. This and the next two are `nil` on a reused connection.
  package var lookedUp: Duration?
  package var connected: Duration?
  /// Until the TLS handshake was complete.
  package var secured: Duration?
  package var firstByte: Duration?
  /// Until the last byte, or the failure.
  package var end: Duration
  package var bytes: Int64 = 0
  package var connections = 0
  package var requests = 1
  /// `nil` without an answer.
  package var status: Int?
  package var hasFailed = false
  package var isSegment = false

  package init(address: String, begin: UInt64, end: Duration) {
    self.address = address
    self.begin = begin
    self.end = end
  }
}
