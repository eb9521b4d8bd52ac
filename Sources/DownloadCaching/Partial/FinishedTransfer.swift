/// What a transfer that came to its end has to become.
enum FinishedTransfer: Sendable, Equatable {
  /// The file is whole and waits for its final name.
  /// - isProven: false if only the closing connection said so (RFC 9112 §8): it may have been cut.
  case whole(isProven: Bool)
  /// The server vouched for the file on disk (304).
  case unchanged
  /// Left alone, as the policy says.
  case skipped
}
