import Synchronization

package enum BodyDisposition: Sendable, Equatable {
  case write
  /// The body is long, so that other transfers could fetch segments of it meanwhile.
  case splittable
  /// Remove the content codings that the head names (RFC 9110 §8.4), all of which are known (`ContentCoding`).
  case decode
  /// The body is not wanted: a short one is read and dropped, so that the connection can be kept.
  case drain
  /// The rest is not wanted: the transfer ends without a failure.
  case enough
}
