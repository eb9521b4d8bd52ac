import Synchronization

/// One GET (RFC 9110 §9.3.1) that the transport is to send, or a HEAD (§9.3.2).
package struct TransferRequest: Sendable {
  package var address: Address
  /// Asks for the head alone. The sink must drain the answer.
  package var isHead = false
  /// First byte wanted (`Range: bytes=N-`, RFC 9110 §14.2); nil asks for the whole file.
  package var rangeStart: Int64?
  /// The offset behind the last byte wanted (`Range: bytes=N-M`); nil asks for all that follows.
  package var rangeEnd: Int64?
  /// Further header lines (`If-Range: "v1"`), in addition to those of every request.
  package var headerLines: [String]
  /// How long it stayed unanswered before it was returned (`DownloadError.overtaken`); nil for the first time.
  package var waited: Duration?
  /// Is told what the transfer waits for.
  package var meter: TransferMeter?
  /// Called for each answer of the address's own host, with the number of further requests that the host allows; nil
  /// if the answer gives none.
  package var onAnswer: (@Sendable (RequestAllowance?) -> Void)?
  /// Of a further segment: the meter of its file.
  package var segmentOf: TransferMeter?
  /// Whether a redirect may lead from https to http, because a digest of the user's proves the bytes (HTTP rule 57).
  package var mayLeaveTLS = false
  private let provenance: Provenance
  private var ownLines: [String] = []

  package init(
    address: Address, headerLines: [String] = [], meter: TransferMeter? = nil, provenance: Provenance = .user
  ) {
    self.address = address
    self.headerLines = headerLines
    self.meter = meter
    self.provenance = provenance
  }

  /// For a request, with the header lines that its line has for it alone.
  package init(for request: DownloadRequest) {
    self.init(address: request.source, provenance: request.sourceProvenance)
    if request.source.isSameOrigin(as: request.address) { ownLines = request.headerLines }
  }

  /// The header lines that a list's line has for this address alone: for its own origin, whoever wrote the list.
  package func ownLines(for destination: Address) -> [String] {
    ownLines.isEmpty || !destination.isSameOrigin(as: address) ? [] : ownLines
  }

  /// Whether what the user gave goes with this request to a destination: header lines, cookies, client certificate, a
  /// login that names no host. Not to another origin, and not where only a list at an address names it (HTTP rule 42).
  package func isHome(_ destination: Address) -> Bool {
    provenance != .stranger && destination.isSameOrigin(as: address)
  }
}
