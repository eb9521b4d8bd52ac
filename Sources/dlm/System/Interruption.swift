import Glibc
import RunDoors
import Synchronization

/// Lets another thread permanently end waits for a descriptor.
final class Interruption: Sendable {
  private let raised = Atomic<Bool>(false)
  /// `nil` when out of descriptors: a wait then ends only with its data, which is still correct.
  private let pipe = try? WakePipe()

  var isRaised: Bool { raised.load(ordering: .acquiring) }

  func raise() { if !raised.exchange(true, ordering: .acquiringAndReleasing) { pipe?.wake() } }

  /// - Parameter time: `nil` for no limit.
  /// - Returns: whether a read would not block, also at the end; false after the time, and once it is raised.
  func waitUntilReadable(_ descriptor: Int32, within time: Duration? = nil) -> Bool {
    while !isRaised {
      // poll(2) ignores negative descriptors.
      var wanted = [descriptor, pipe?.descriptor ?? -1].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      let milliseconds = time.map { Int32(max(0, ($0 / .milliseconds(1)).rounded(.up))) } ?? -1
      let count = poll(&wanted, nfds_t(wanted.count), milliseconds)
      // If a signal ends a limited wait early, the caller checks again; otherwise the read reports the error.
      if count < 0, time == nil, errno == EINTR { continue }
      if wanted[0].revents != 0 || count < 0 && time == nil { return !isRaised }
      if time != nil { return false }
    }
    return false
  }
}
