/// Where finished files stand and unfinished ones wait. DownloadCaching is the real one.
public protocol DownloadStore: Sendable {
  /// Transfers into the target until it is whole. It runs in the store's isolation, so that a store on the
  /// transport's executor is not left and entered again for each file.
  typealias Fetch =
    nonisolated(nonsending) @Sendable (any DownloadTarget) async throws(DownloadError) -> TransferReceipt

  /// The file of a request: from memory, from disk, or through `fetch` from the network.
  ///
  /// Equal requests at one time share one piece of work, which lives while anyone still waits for it.
  /// - Parameter fetch: transfers into the target until it is whole; called once, a second time when the bytes did
  ///   not match their checksum, and not at all when the answer is already known.
  func file(
    for request: DownloadRequest, meter: TransferMeter,
    fetch: @escaping Fetch
  ) async throws(DownloadError) -> DownloadOutcome
}

/// A file on its way: a sink that knows what it still needs.
public protocol DownloadTarget: BodySink {
  /// The request that the next attempt is to send: whole, ranged or conditional, by what is on disk now.
  /// Called before each attempt.
  func nextTransfer() throws(DownloadError) -> TransferRequest

  /// Judges the end of an attempt that was whole by the protocol. Called after each.
  /// - Returns: false if the server sent less than was asked for: `nextTransfer` asks for the rest, which is no
  ///   further try.
  /// - Throws: what is wrong with the answer or its length; a passing failure may be tried again.
  func isWhole(after receipt: TransferReceipt) throws(DownloadError) -> Bool
}
