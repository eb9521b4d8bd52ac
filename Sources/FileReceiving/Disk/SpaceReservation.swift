import DownloadModel
import Synchronization

/// The space that one file has reserved: all missing bytes if its length is known, otherwise one step at a time. It
/// shrinks as bytes are written, because the disk then counts them itself. The rest is freed when the file ends.
struct SpaceReservation: ~Copyable, Sendable {
  /// The disk space that files in flight in one folder still need, so that no two of them count on the same free space.
  final class Ledger: Sendable {
    private let promisedBytes = Lock<Int64>(0)

    var promised: Int64 { promisedBytes.withLock { $0 } }

    /// Reserves bytes for a file, if that many are free.
    /// - Parameter free: the disk's free bytes; `nil` if unknown.
    func promise(_ bytes: Int64, free: Int64?) -> Bool {
      // One step: if check and reservation were separate, two loops could reserve the same bytes.
      promisedBytes.withLock { promised in
        if let free, bytes > free - promised { return false }
        promised += bytes
        return true
      }
    }

    fileprivate func giveBack(_ bytes: Int64) { promisedBytes.withLock { $0 -= bytes } }
  }

  private let ledger: Ledger
  private var rest: Int64 = 0
  /// The offset up to which space is reserved for a file of unknown length.
  private var reach: Int64 = 0

  private static let step: Int64 = 8 << 20
  /// The space that a body leaves to other files if none of its bytes can be kept.
  static let reserve: Int64 = 2 << 20

  init(_ ledger: Ledger) { self.ledger = ledger }

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

  /// Checks the space before a large body starts, rather than after gigabytes.
  mutating func begin(_ needed: Int64?, for name: String, in directory: OutputDirectory) throws(DownloadError) {
    giveBack()
    reach = PartWriter.worthMetadata
    guard let needed, needed > PartWriter.worthMetadata else { return }
    let free = directory.folder.freeBytes()
    if take(needed, free: free) { return }
    let others = ledger.promised
    let reason = others == 0 ? "it does not fit" : "it does not fit beside the files that are under way"
    throw directory.full(name, reason, needed: needed - max(0, (free ?? 0) - others))
  }

  /// Reserves the next step for a file of unknown length, so that an endless body leaves other files the space that
  /// they reserved. If nothing else is reserved, the disk itself reports that it is full.
  /// - Parameter rest: bytes that must remain free in addition.
  mutating func grow(
    to position: Int64, for name: String, in directory: OutputDirectory, leaving rest: Int64
  ) throws(DownloadError) {
    guard position >= reach else { return }
    giveBack()
    let free = directory.folder.freeBytes()
    let others = ledger.promised + rest
    let step = min(Self.step, max(0, (free ?? .max) - others))
    guard step > 0 || others == 0 else {
      throw directory.full(name, "what is left is for other files", needed: Self.step)
    }
    _ = take(step, free: free)
    reach = position + max(step, PartWriter.worthMetadata)
  }
}
