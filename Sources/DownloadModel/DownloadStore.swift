/// Where finished files stand and unfinished ones wait. DownloadCaching is the real one.
public protocol DownloadStore: Sendable {
  /// Transfers into the target until it is whole. It runs in the store's isolation, so that a store on the
  /// transport's executor is not left and entered again for each file.
  typealias Fetch =
    nonisolated(nonsending) @Sendable (any DownloadTarget) async throws(DownloadError) -> TransferReceipt

  /// The file of a request: from memory, from disk, or through `fetch` from the network.
  ///
  /// Equal requests at one time share one piece of work. It is done in the task of one of them, and when that is
  /// cancelled, in that of another.
  /// - Parameter fetch: transfers into the target until it is whole; called once, a second time when the bytes did
  ///   not match their checksum, and not at all when the answer is already known.
  nonisolated(nonsending) func file(
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

/// A target that several transfers can fill at a time, each its own part.
public protocol SplittableTarget: DownloadTarget {
  /// What is not there yet, in the order of the file.
  var openSpans: [OpenSpan] { get }

  /// Takes the end of a span from whoever fetches it, or all of one that nobody fetches.
  /// - Parameter offset: where the part begins: behind the span's position, or at it if nobody fetches the span.
  /// - Returns: a target for the part, and the number of its span; nil if the span has changed meanwhile, or cannot be
  ///   split there.
  func takePart(of span: Int, from offset: Int64) throws(DownloadError) -> (
    id: Int, target: any DownloadTarget
  )?

  /// Nobody fetches the part any more (or, with this target itself, the start of the file): what it still lacks is open
  /// to others.
  /// - Throws: `.disk`, `.diskFull` when what had arrived could not be written.
  func release(_ part: any DownloadTarget) throws(DownloadError)
}

/// A run of bytes of a file that is to come.
public struct OpenSpan: Sendable, Equatable, Identifiable {
  /// The number of the span that the file's own target fetches: the first gap from the start of the file.
  public static let trunk = 0

  public let id: Int
  /// Offset in the file of the next byte to come.
  public var position: Int64
  /// Offset behind the last byte.
  public var end: Int64
  /// Whether a transfer fetches it.
  public var isTaken: Bool

  public init(id: Int, position: Int64, end: Int64, isTaken: Bool) {
    self.id = id
    self.position = position
    self.end = end
    self.isTaken = isTaken
  }

  public var length: Int64 { end - position }
}
