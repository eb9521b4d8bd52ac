import DownloadModel
import Synchronization

/// A file on its way: what a transport writes into and a scheduler asks for the next request.
///
/// A lock around `PartialTransfer`. It is free whenever it is taken: the transport's thread and the cache take
/// turns, they do not compete.
final class PartialFile: SplittableTarget, Sendable {
  private let transfer: Mutex<PartialTransfer>

  init(_ order: FileOrder) { transfer = Mutex(PartialTransfer(order)) }

  func nextTransfer() throws(DownloadError) -> TransferRequest {
    try transfer.withLock { transfer throws(DownloadError) in try transfer.next() }
  }

  func accept(_ head: ResponseHead) throws(DownloadError) -> BodyDisposition {
    try transfer.withLock { transfer throws(DownloadError) in try transfer.accept(head) }
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws(DownloadError) {
    try transfer.withLock { transfer throws(DownloadError) in try transfer.write(bytes) }
  }

  func isWhole(after receipt: TransferReceipt) throws(DownloadError) -> Bool {
    try transfer.withLock { transfer throws(DownloadError) in try transfer.isWhole(after: receipt) }
  }

  func finish(_ receipt: TransferReceipt) throws(DownloadError) -> FinishedTransfer {
    try transfer.withLock { transfer throws(DownloadError) in try transfer.finish(receipt) }
  }

  func stamp() throws(DownloadError) {
    try transfer.withLock { transfer throws(DownloadError) in try transfer.stamp() }
  }

  func place(
    _ ownership: Ownership, _ owners: FileOwners? = FileOwners(), proof: Proof,
    looksForTwin: Bool = false, beforeNaming: (CacheRow) -> Void
  ) throws(DownloadError) -> Placement {
    try transfer.withLock { transfer throws(DownloadError) in
      try transfer.place(
        ownership, owners, proof: proof, looksForTwin: looksForTwin,
        beforeNaming: beforeNaming)
    }
  }

  /// Takes a file that stands there for its own, if it has the same bytes and belongs to nobody else. For threads that
  /// may block.
  /// - Returns: nil if there is none.
  func adopt(_ owners: FileOwners) throws(DownloadError) -> Placement? {
    try transfer.withLock { transfer throws(DownloadError) in
      try transfer.adopt(owners)
    }
  }

  /// Copies an intact file of the same address. For threads that may block.
  /// - Returns: false if the source is not, or is no longer, the row's file.
  func fill(from source: CacheRow) throws(DownloadError) -> Bool {
    try transfer.withLock { transfer throws(DownloadError) in try transfer.fill(from: source) }
  }

  // MARK: In parts

  var openSpans: [OpenSpan] { transfer.withLock { $0.openSpans } }

  func takePart(of span: Int, from offset: Int64) throws(DownloadError) -> (
    id: Int, target: any DownloadTarget
  )? {
    let id = try transfer.withLock { transfer throws(DownloadError) in
      try transfer.takePart(of: span, from: offset)
    }
    return id.map { ($0, FilePart(self, $0)) }
  }

  func refuseParts() { transfer.withLock { $0.refusesParts = true } }

  func ask(for piece: PieceSize) { transfer.withLock { $0.piece = piece } }

  func release(_ part: any DownloadTarget) throws(DownloadError) {
    try transfer.withLock { transfer throws(DownloadError) in
      if let part = part as? FilePart {
        try transfer.release(part: part.id)
      } else {
        try transfer.endTrunk()
      }
    }
  }

  /// For `FilePart`.
  fileprivate func with<Value: Sendable>(
    _ body: (inout PartialTransfer) throws(DownloadError) -> Value
  ) throws(DownloadError) -> Value {
    try transfer.withLock { transfer throws(DownloadError) in try body(&transfer) }
  }

  /// How the whole file compares with its checksum, as far as that is known without reading it.
  func digestVerdict() -> DigestVerdict { transfer.withLock { $0.digestVerdict() } }

  /// The same, reading what did not go by. For threads that may block.
  func digestVerdictByReading() throws(DownloadError) -> DigestVerdict {
    try transfer.withLock { transfer throws(DownloadError) in try transfer.digestVerdictByReading() }
  }

  /// Makes the bytes durable. For threads that may block.
  func sync() throws(DownloadError) {
    try transfer.withLock { transfer throws(DownloadError) in try transfer.sync() }
  }

  /// The bytes were wrong: the next attempt asks for the whole file, past every cache.
  func startAfresh() throws(DownloadError) {
    try transfer.withLock { transfer throws(DownloadError) in try transfer.startAfresh() }
  }

  /// What was known of a finished file holds no more: the next attempt asks for the whole, whatever the server has.
  func forgetKnown() throws(DownloadError) {
    try transfer.withLock { transfer throws(DownloadError) in try transfer.forgetKnown() }
  }

  /// Sets wrong bytes aside under a name of their own.
  /// - Returns: the path.
  func setAside() throws(DownloadError) -> String {
    try transfer.withLock { transfer throws(DownloadError) in try transfer.setAside() }
  }

  /// Ends an unfinished transfer and keeps what can be resumed.
  func abandon() throws(DownloadError) {
    try transfer.withLock { transfer throws(DownloadError) in try transfer.abandon() }
  }

  /// What the answer said, for the row of a file that the server vouched for.
  var head: ResponseHead? { transfer.withLock { $0.head } }

  /// The final name as far as it is known, with its number.
  var finalName: String { transfer.withLock { $0.order.preferred($0.finalName) } }
}

/// A part of a file, filled by a transfer of its own.
final class FilePart: DownloadTarget {
  private let file: PartialFile
  fileprivate let id: Int

  init(_ file: PartialFile, _ id: Int) {
    self.file = file
    self.id = id
  }

  func nextTransfer() throws(DownloadError) -> TransferRequest {
    try file.with { transfer throws(DownloadError) in try transfer.next(part: id) }
  }

  func accept(_ head: ResponseHead) throws(DownloadError) -> BodyDisposition {
    try file.with { transfer throws(DownloadError) in try transfer.accept(head, part: id) }
    return .write
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws(DownloadError) {
    try file.with { transfer throws(DownloadError) in try transfer.write(bytes, part: id) }
  }

  func isWhole(after receipt: TransferReceipt) throws(DownloadError) -> Bool {
    try file.with { transfer throws(DownloadError) in try transfer.isWhole(part: id) }
  }
}
