import CCurl
import DownloadModel
import Glibc
import Synchronization

/// Whether to look for an answer again and again for a moment before the thread sleeps for it: a server on this machine
/// answers sooner than a thread wakes up. After each look in vain twice as many answers are slept for.
struct BriefLook {
  private var failures = 0
  private var left = 0

  /// In nanoseconds.
  static let length: UInt64 = 100_000
  private static let most = 10

  mutating func begins() -> Bool {
    if left == 0 { return true }
    left -= 1
    return false
  }

  mutating func ended(hasFound: Bool) {
    failures = hasFound ? 0 : min(failures + 1, Self.most)
    left = hasFound ? 0 : 1 << failures
  }
}
