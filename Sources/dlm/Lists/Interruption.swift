import Glibc
import Synchronization

/// Lets another thread end a wait for a descriptor: a pipe of its own that becomes readable when raised.
final class Interruption: Sendable {
  private let raised = Atomic<Bool>(false)
  private let readEnd: Int32
  private let writeEnd: Int32

  init() {
    var ends: [Int32] = [-1, -1]
    // Out of descriptors: without the pipe a wait ends with its data only, which is still right.
    if pipe(&ends) == 0 {
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    }
    (readEnd, writeEnd) = (ends[0], ends[1])
  }

  deinit {
    if readEnd >= 0 { close(readEnd) }
    if writeEnd >= 0 { close(writeEnd) }
  }

  var isRaised: Bool { raised.load(ordering: .acquiring) }

  func raise() {
    guard !raised.exchange(true, ordering: .acquiringAndReleasing), writeEnd >= 0 else { return }
    var byte: UInt8 = 1
    _ = write(writeEnd, &byte, 1)  // an empty pipe takes a byte
  }

  /// Whether a read would not wait: more is there, or the end.
  func isReadableNow(_ descriptor: Int32) -> Bool {
    var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&wanted, 1, 0) > 0
  }

  /// - Returns: false when it was raised before there was anything to read.
  func waitUntilReadable(_ descriptor: Int32) -> Bool {
    while !isRaised {
      var wanted = [
        pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: readEnd, events: Int16(POLLIN), revents: 0),
      ]
      if poll(&wanted, nfds_t(wanted.count), -1) < 0 {
        if errno == EINTR { continue }
        return true  // let the read itself say what is wrong
      }
      if wanted[0].revents != 0 { return !isRaised }
    }
    return false
  }
}
