import Glibc
import Synchronization
import SystemPackage

/// The disk space that files under way in one folder still need: what is free is not free for all of them.
final class SpaceLedger: Sendable {
  private let promisedBytes = Mutex<Int64>(0)

  init() {}

  /// Bytes that files under way still need.
  var promised: Int64 { promisedBytes.withLock { $0 } }

  /// Sets bytes aside for a file.
  /// - Parameter free: what the disk has; nil where it does not say.
  /// - Returns: nil if they are not there.
  func promise(_ bytes: Int64, free: Int64?) -> SpacePromise? {
    // One step: two loops that looked, and then both took, would have promised what one of them has to have.
    let isThere = promisedBytes.withLock { promised in
      if let free, bytes > free - promised { return false }
      promised += bytes
      return true
    }
    return isThere ? SpacePromise(self, bytes) : nil
  }

  fileprivate func giveBack(_ bytes: Int64) { promisedBytes.withLock { $0 -= bytes } }
}

/// Space set aside for one file, given back as it is used, and the rest when the file has ended.
struct SpacePromise: ~Copyable, Sendable {
  private let ledger: SpaceLedger
  private var rest: Int64

  fileprivate init(_ ledger: SpaceLedger, _ bytes: Int64) {
    self.ledger = ledger
    rest = bytes
  }

  /// Written bytes are no longer promised: the disk itself counts them now.
  mutating func use(_ bytes: Int64) {
    let used = min(bytes, rest)
    guard used > 0 else { return }
    rest -= used
    ledger.giveBack(used)
  }

  deinit { ledger.giveBack(rest) }
}
