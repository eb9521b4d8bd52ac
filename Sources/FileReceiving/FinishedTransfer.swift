package import DownloadModel

package enum FinishedTransfer: Equatable {
  /// The file is complete, as far as this proof goes, and waits for its final name.
  case whole(Proof)
  /// Another request must follow: after a range shorter than requested (RFC 9110 §14.2 allows it), after a 304 that was
  /// not about the known file, or to check an end without a length.
  case partly
  case unchanged
  case skipped
}
