import DownloadModel
import Glibc
import Synchronization

/// Lets another thread end a wait for a descriptor, for good.
final class Interruption: Sendable {
  private let raised = Atomic<Bool>(false)
  /// Nil when out of descriptors: a wait then ends with its data only, which is still right.
  private let pipe = try? WakePipe()

  var isRaised: Bool { raised.load(ordering: .acquiring) }

  func raise() { if !raised.exchange(true, ordering: .acquiringAndReleasing) { pipe?.wake() } }

  /// - Parameter time: nil for as long as it takes.
  /// - Returns: whether a read would not wait, also at the end; false after the time, and once it is raised.
  func waitUntilReadable(_ descriptor: Int32, within time: Duration? = nil) -> Bool {
    while !isRaised {
      // poll(2) ignores negative descriptors.
      var wanted = [descriptor, pipe?.descriptor ?? -1].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      let milliseconds = time.map { Int32(max(0, ($0 / .milliseconds(1)).rounded(.up))) } ?? -1
      let count = poll(&wanted, nfds_t(wanted.count), milliseconds)
      // After a limited wait that a signal ends early the caller looks again; else the read says what is wrong.
      if count < 0, time == nil, errno == EINTR { continue }
      if wanted[0].revents != 0 || count < 0 && time == nil { return !isRaised }
      if time != nil { return false }
    }
    return false
  }
}
