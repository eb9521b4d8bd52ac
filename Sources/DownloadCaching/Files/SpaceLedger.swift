import Glibc
import Synchronization
import SystemPackage

/// The disk space that files under way in one folder still need: what is free is not free for all of them.
final class SpaceLedger: Sendable {
  private let promisedBytes = Atomic<Int64>(0)

  init() {}

  /// Bytes that files under way still need.
  var promised: Int64 { promisedBytes.load(ordering: .relaxed) }

  /// Sets bytes aside for a file.
  /// - Parameter free: what the disk has; nil where it does not say.
  /// - Returns: nil if they are not there.
  func promise(_ bytes: Int64, free: Int64?) -> SpacePromise? {
    if let free, bytes > free - promised { return nil }
    promisedBytes.wrappingAdd(bytes, ordering: .relaxed)
    return SpacePromise(self, bytes)
  }

  fileprivate func giveBack(_ bytes: Int64) { promisedBytes.wrappingSubtract(bytes, ordering: .relaxed) }
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
    rest -= used
    ledger.giveBack(used)
  }

  deinit { ledger.giveBack(rest) }
}
