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

  /// How much of a part is asked for at a time, from the next request on.
  func ask(for piece: PieceSize)

  /// The server gives no parts of the file, or not soon enough: it is not to be asked for any more of them.
  func refuseParts()

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
  /// Offset behind what its transfer is bound to bring: what lies behind that can be given to another, and no byte comes
  /// twice. The start of the file is asked for without an end, and must be broken off wherever others begin: it is
  /// bound to nothing.
  public var asked: Int64

  public init(id: Int, position: Int64, end: Int64, isTaken: Bool, asked: Int64? = nil) {
    self.id = id
    self.position = position
    self.end = end
    self.isTaken = isTaken
    self.asked = asked ?? position
  }

  public var length: Int64 { end - position }
}

/// How much of a part is asked for at a time: a rule without state.
///
/// Never all of it, as long as it is long: whoever is free then takes what nobody has asked for, and no connection is
/// broken off with bytes on their way. Each piece costs a round trip on a connection that is there.
public struct PieceSize: Sendable, Equatable {
  /// So much of what the part lacks: a half, a quarter.
  public var divisor: Int64
  /// Bytes; less than twice as many are asked for at once.
  public var least: Int64

  public static let smallest: Int64 = 1 << 20

  public init(divisor: Int64, least: Int64) {
    self.divisor = max(1, divisor)
    self.least = max(Self.smallest, least)
  }

  /// - Parameters:
  ///   - position: offset of the part's next byte.
  ///   - end: offset behind its last.
  /// - Returns: offset behind the last byte to ask for.
  public func end(from position: Int64, to end: Int64) -> Int64 {
    let piece = max(least, (end - position) / divisor)
    return end - position - piece < least ? end : position + piece
  }
}
