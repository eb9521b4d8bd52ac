import DownloadModel
import Synchronization

/// The disk space that files in flight in one folder still need, so that no two of them count on the same free space.
final class SpaceLedger: Sendable {
  private let promisedBytes = Lock<Int64>(0)

  /// Bytes that files in flight still need.
  var promised: Int64 { promisedBytes.withLock { $0 } }

  /// Reserves bytes for a file.
  /// - Parameter free: the disk's free bytes; nil where it does not tell.
  /// - Returns: nil if there are not that many.
  func promise(_ bytes: Int64, free: Int64?) -> SpacePromise? {
    // One step: if check and reservation were apart, two loops could reserve the same bytes.
    let isThere = promisedBytes.withLock { promised in
      if let free, bytes > free - promised { return false }
      promised += bytes
      return true
    }
    return isThere ? SpacePromise(ledger: self, rest: bytes) : nil
  }

  fileprivate func giveBack(_ bytes: Int64) { promisedBytes.withLock { $0 -= bytes } }
}

/// Space reserved for one file. It shrinks as bytes are written; the rest is freed when the file has ended.
struct SpacePromise: ~Copyable, Sendable {
  fileprivate let ledger: SpaceLedger
  fileprivate var rest: Int64

  /// Written bytes are no longer reserved, because the disk itself counts them now.
  mutating func use(_ bytes: Int64) {
    let used = min(bytes, rest)
    guard used > 0 else { return }
    rest -= used
    ledger.giveBack(used)
  }

  deinit { ledger.giveBack(rest) }
}

/// Why there is no space for a file.
struct SpaceShortage: Error, Equatable {
  var reason: String
  /// How many bytes are lacking.
  var neededBytes: Int64
}

/// The space that one file has reserved: all that is still to come where its length is known, otherwise a step at a
/// time.
struct SpaceReservation: ~Copyable, Sendable {
  private var promise: SpacePromise?
  /// Up to which offset space is reserved for a file of unknown length.
  private var reach: Int64 = 0

  /// How much is reserved at a time for a file of unknown length.
  private static let step: Int64 = 8 << 20
  /// What is left to other files by a body of which nothing can be kept.
  static let reserve: Int64 = 2 << 20

  /// Checks the space before a large body begins, rather than after gigabytes.
  /// - Parameter needed: bytes that are to come; nil if the length is unknown.
  mutating func begin(_ needed: Int64?, in directory: OutputDirectory) throws(SpaceShortage) {
    promise = nil
    reach = Reception.worthMetadata
    guard let needed, needed > Reception.worthMetadata else { return }
    let free = directory.folder.freeBytes()
    guard let promise = directory.space.promise(needed, free: free) else {
      let others = directory.space.promised
      throw SpaceShortage(
        reason: others == 0 ? "it does not fit" : "it does not fit beside the files that are under way",
        neededBytes: needed - max(0, (free ?? 0) - others))
    }
    self.promise = consume promise
  }

  /// Reserves the next step for a file of unknown length, as far as there is space, so that a body without end leaves
  /// other files what they have reserved. When nothing else is reserved, the disk itself reports that it is full.
  /// - Parameter rest: what must be left when nothing else is reserved, too.
  mutating func grow(
    to position: Int64, in directory: OutputDirectory, leaving rest: Int64
  ) throws(SpaceShortage) {
    guard position >= reach else { return }
    promise = nil
    let (free, others) = (directory.folder.freeBytes(), directory.space.promised + rest)
    let step = min(Self.step, max(0, (free ?? .max) - others))
    guard step > 0 || others == 0 else {
      throw SpaceShortage(reason: "what is left is for other files", neededBytes: Self.step)
    }
    promise = directory.space.promise(step, free: free)
    reach = position + max(step, Reception.worthMetadata)
  }

  mutating func use(_ bytes: Int64) { promise?.use(bytes) }

  mutating func giveBack() { promise = nil }
}
