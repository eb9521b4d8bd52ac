package struct TransferReceipt: Sendable, Equatable {
  package var status: Int
  /// Body bytes that arrived for the sink, as the server sent them: for a decoded body, the coded bytes.
  package var bodyBytes: Int64
  /// What the end of the body proves (RFC 9112 §6.3).
  package var proof: Proof
  /// The URL that answered, if redirects led to another one.
  package var effectiveURL: String?

  package init(status: Int, bodyBytes: Int64, proof: Proof, effectiveURL: String? = nil) {
    self.status = status
    self.bodyBytes = bodyBytes
    self.proof = proof
    self.effectiveURL = effectiveURL
  }
}
