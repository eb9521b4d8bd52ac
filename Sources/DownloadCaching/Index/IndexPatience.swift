import Glibc
import Synchronization

/// How long to wait for another process that holds the index: a stopped one (SIGSTOP) may hold it forever.
final class IndexPatience: Sendable {
  private let isOver = Atomic<Bool>(false)
  private static let pause: UInt32 = 20_000  // microseconds
  private static let tries = 250

  func end() { isOver.store(true, ordering: .relaxed) }

  /// Pauses for a moment. Returns false if the caller should give up.
  func waits(try number: Int) -> Bool {
    guard number < Self.tries, !isOver.load(ordering: .relaxed) else { return false }
    usleep(Self.pause)
    return true
  }
}
