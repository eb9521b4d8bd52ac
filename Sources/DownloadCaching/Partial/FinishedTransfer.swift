import DownloadModel

/// What a transfer that came to its end has to become.
enum FinishedTransfer: Sendable, Equatable {
  /// The file is whole, as far as this proves it, and waits for its final name.
  case whole(Proof)
  /// No failure, and not all: the answer was a shorter part than was asked for (RFC 9110 §14.2 allows it), or said nothing
  /// of what is here. What is missing is to be asked for.
  case partly
  /// The server vouched for the file on disk (304).
  case unchanged
  /// Left alone, as the policy says.
  case skipped
}
