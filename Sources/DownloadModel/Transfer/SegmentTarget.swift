/// The target of one transfer at a time: a whole file, or a segment of it.
package protocol SegmentTarget: ByteSink {
  /// The request for the next attempt: whole, ranged or conditional, depending on the bytes on disk.
  /// - Returns: `nil` if no bytes are missing.
  func nextTransfer() throws(DownloadError) -> TransferRequest?

  /// Judges the end of a transfer that was complete by the protocol. Must be called once for each.
  /// - Returns: false if the server sent less than requested; requesting the rest is then not a retry.
  func finish(_ receipt: TransferReceipt) throws(DownloadError) -> Bool
}
