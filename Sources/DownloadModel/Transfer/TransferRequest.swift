/// One GET (RFC 9110 §9.3.1), or HEAD (§9.3.2), for the transport to send.
package struct TransferRequest: Sendable {
  package var address: Address
  /// Requests only the head. The sink must drain the answer.
  package var isHead = false
  /// First byte requested (`Range: bytes=N-`, RFC 9110 §14.2); `nil` requests the whole file.
  package var rangeStart: Int64?
  /// Offset behind the last byte requested (`Range: bytes=N-M`); `nil` requests all that follow.
  package var rangeEnd: Int64?
  /// Further header lines (`If-Range: "v1"`), in addition to those of every request.
  package var headerLines: [String]
  /// How long it stayed unanswered before it was requeued (`HostNews`); `nil` for its first attempt.
  package var waited: Duration?
  /// Receives the phases of the transfer.
  package var meter: TransferMeter?
  /// Called for each answer of the URL's own host, and before the error of a request that is requeued.
  package var onNews: (@Sendable (HostNews) -> Void)?
  /// For a further segment: the meter of its file.
  package var segmentOf: TransferMeter?
  /// The meter of its file.
  package var file: TransferMeter? { meter ?? segmentOf }
  /// Whether its file was given up.
  package var isStopped: Bool { file?.isStopped == true }
  /// Whether a redirect may lead from https to http, because a digest given by the user proves the bytes
  /// (HTTP rule 57).
  package var mayLeaveTLS = false
  private let provenance: Provenance
  private var ownLines: [String] = []

  package init(address: Address, headerLines: [String] = [], provenance: Provenance = .user) {
    self.address = address
    self.headerLines = headerLines
    self.provenance = provenance
  }

  /// The transfer for a file, with the header lines of its own list line.
  package init(for request: DownloadRequest) {
    self.init(address: request.source, provenance: request.sourceProvenance)
    if request.source.isSameOrigin(as: request.address) { ownLines = request.headerLines }
  }

  /// The header lines that a list's line gives for this URL: only for its own origin, whoever wrote the list.
  package func ownLines(for destination: Address) -> [String] {
    ownLines.isEmpty || !destination.isSameOrigin(as: address) ? [] : ownLines
  }

  /// Whether the user's data goes with this request to a destination: header lines, cookies, client certificate, a
  /// login without a host. Not to another origin, and not if only a downloaded list names it (HTTP rule 42).
  package func isHome(_ destination: Address) -> Bool {
    provenance != .thirdParty && destination.isSameOrigin(as: address)
  }
}
