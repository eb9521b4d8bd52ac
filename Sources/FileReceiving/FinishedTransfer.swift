package import DownloadModel
import Synchronization

package enum FinishedTransfer: Equatable {
  /// The file is whole, as far as this proves it, and waits for its final name.
  case whole(Proof)
  /// Another request must follow: after a shorter range than was asked for (RFC 9110 §14.2 allows it), after an answer
  /// that says nothing about what is held, or to check an end without a length.
  case partly
  case unchanged
  case skipped
}
