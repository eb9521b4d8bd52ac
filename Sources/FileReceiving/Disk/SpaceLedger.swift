import DownloadModel
import Synchronization

/// The disk space that files in flight in one folder still need, so that no two of them count on the same free space.
final class SpaceLedger: Sendable {
  private let promisedBytes = Lock<Int64>(0)

  var promised: Int64 { promisedBytes.withLock { $0 } }

  /// Reserves bytes for a file, if there are that many.
  /// - Parameter free: the disk's free bytes; nil where it does not tell.
  func promise(_ bytes: Int64, free: Int64?) -> Bool {
    // One step: if check and reservation were apart, two loops could reserve the same bytes.
    promisedBytes.withLock { promised in
      if let free, bytes > free - promised { return false }
      promised += bytes
      return true
    }
  }

  fileprivate func giveBack(_ bytes: Int64) { promisedBytes.withLock { $0 -= bytes } }
}

/// The space that one file has reserved: all that is to come where its length is known, otherwise a step at a time. It
/// shrinks as bytes are written, because the disk itself counts them then; the rest is freed when the file has ended.
struct SpaceReservation: ~Copyable, Sendable {
  private let ledger: SpaceLedger
  private var rest: Int64 = 0
  /// Up to which offset space is reserved for a file of unknown length.
  private var reach: Int64 = 0

  private static let step: Int64 = 8 << 20
  /// What is left to other files by a body of which nothing can be kept.
  static let reserve: Int64 = 2 << 20

  init(_ ledger: SpaceLedger) { self.ledger = ledger }

  deinit { if rest > 0 { ledger.giveBack(rest) } }

  mutating func take(_ bytes: Int64, free: Int64?) -> Bool {
    giveBack()
    if ledger.promise(bytes, free: free) { rest = bytes }
    return rest == bytes
  }

  mutating func use(_ bytes: Int64) {
    let used = min(bytes, rest)
    guard used > 0 else { return }
    rest -= used
    ledger.giveBack(used)
  }

  mutating func giveBack() { use(rest) }

  /// Checks the space before a large body begins, rather than after gigabytes.
  mutating func begin(_ needed: Int64?, for name: String, in directory: OutputDirectory) throws(DownloadError) {
    giveBack()
    reach = PartWriter.worthMetadata
    guard let needed, needed > PartWriter.worthMetadata else { return }
    let free = directory.folder.freeBytes()
    if take(needed, free: free) { return }
    let others = directory.space.promised
    let reason = others == 0 ? "it does not fit" : "it does not fit beside the files that are under way"
    throw directory.full(name, reason, needed: needed - max(0, (free ?? 0) - others))
  }

  /// Reserves the next step for a file of unknown length: a body without end leaves other files what they reserved.
  /// When nothing else is reserved, the disk itself reports that it is full.
  /// - Parameter rest: what must be left then, too.
  mutating func grow(
    to position: Int64, for name: String, in directory: OutputDirectory, leaving rest: Int64
  ) throws(DownloadError) {
    guard position >= reach else { return }
    giveBack()
    let (free, others) = (directory.folder.freeBytes(), directory.space.promised + rest)
    let step = min(Self.step, max(0, (free ?? .max) - others))
    guard step > 0 || others == 0 else {
      throw directory.full(name, "what is left is for other files", needed: Self.step)
    }
    _ = take(step, free: free)
    reach = position + max(step, PartWriter.worthMetadata)
  }
}
