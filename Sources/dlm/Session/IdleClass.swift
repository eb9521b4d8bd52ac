import CLinux
import Glibc
import SystemPackage

/// The classes of processor and disk time that get what nobody else wants (`--background`).
///
/// They belong to threads, and a new thread inherits those of the one that makes it. So all threads that there are get
/// them, again and again until a look finds no new one; from then on every new one has them.
enum IdleClass {
  /// SCHED_IDLE, which Swift's Glibc module does not export.
  private static let scheduling: Int32 = 5
  /// Each look takes moments, and few threads are made meanwhile.
  private static let mostLooks = 16

  /// - Returns: why the system refuses; nil if it does not.
  static func enter() -> Errno? {
    var done: Set<pid_t> = []
    for _ in 0..<mostLooks {
      let new = threads().subtracting(done)
      if new.isEmpty { return nil }
      for thread in new {
        if let errno = enter(thread) { return errno }
      }
      done.formUnion(new)
    }
    return nil
  }

  private static func enter(_ thread: pid_t) -> Errno? {
    var parameters = sched_param()
    guard sched_setscheduler(thread, scheduling, &parameters) == 0, dlm_set_idle_io(thread) == 0 else {
      // A thread may have ended since it was seen.
      return errno == ESRCH ? nil : Errno(rawValue: errno)
    }
    return nil
  }

  private static func threads() -> Set<pid_t> {
    guard let folder = opendir("/proc/self/task") else { return [] }
    defer { closedir(folder) }
    var threads: Set<pid_t> = []
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if let number = pid_t(name) { threads.insert(number) }
    }
    return threads
  }
}
