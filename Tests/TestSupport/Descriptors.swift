import Foundation
import Glibc

/// Makes descriptors that no child process inherits.
///
/// Glibc's `pipe2` and `accept4` are not in Swift's module, so the flag is set by a second call. The lock keeps
/// `CommandRun` from starting a child between the two: a child that held a copy of a connection would keep it
/// open after the origin has closed it.
enum Descriptors {
  static let lock = NSLock()

  static func pipe() throws(SupportFailure) -> (read: Int32, write: Int32) {
    var ends: [Int32] = [-1, -1]
    let failure = lock.withLock { () -> Int32? in
      guard Glibc.pipe(&ends) == 0 else { return errno }
      return closeOnExec(ends[0]) ?? closeOnExec(ends[1])
    }
    if let failure {
      for end in ends where end >= 0 { close(end) }
      throw .systemCall("pipe", errno: failure)
    }
    return (ends[0], ends[1])
  }

  /// - Returns: the new descriptor, or -1 with errno set.
  static func accept(on listener: Int32) -> Int32 {
    lock.withLock {
      let descriptor = Glibc.accept(listener, nil, nil)
      guard descriptor >= 0, let failure = closeOnExec(descriptor) else { return descriptor }
      close(descriptor)
      errno = failure
      return -1
    }
  }

  private static func closeOnExec(_ descriptor: Int32) -> Int32? {
    fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 ? nil : errno
  }
}
