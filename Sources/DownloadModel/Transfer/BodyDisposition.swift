package enum BodyDisposition: Sendable {
  case write
  /// The body is long, so that other transfers could download segments of it in parallel.
  case splittable
  /// Remove the content codings that the head names (RFC 9110 §8.4); dlm supports them all (`ContentCoding`).
  case decode
  /// The body is not needed: a short one is read and dropped, so that the connection can be kept.
  case drain
  /// The rest is not needed: the transfer ends without a failure.
  case enough
}
