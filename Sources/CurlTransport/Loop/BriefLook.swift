/// Whether to poll briefly for an answer before the thread sleeps: a server on this machine answers sooner than a
/// thread wakes up. Each failed poll doubles the number of answers for which the thread sleeps at once.
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
