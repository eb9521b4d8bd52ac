/// What one transfer at a time fills: a whole file, or a segment of it.
package protocol SegmentTarget: ByteSink {
  /// The request that the next attempt must send: whole, ranged or conditional, by what is on disk now.
  /// - Returns: nil if no bytes are left to request.
  func nextTransfer() throws(DownloadError) -> TransferRequest?

  /// Judges the end of a transfer that was complete by the protocol. Must be called once for each.
  /// - Returns: false if the server sent less than was asked for; to ask for the rest is then not a retry.
  func finish(_ receipt: TransferReceipt) throws(DownloadError) -> Bool
}
