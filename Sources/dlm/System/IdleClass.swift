import CLinux
import FoundationEssentials
import Glibc
import SystemPackage

/// The idle classes of CPU and disk time (`--background`). A new thread inherits them from its creator.
enum IdleClass {
  /// SCHED_IDLE, which Swift's Glibc module does not export.
  private static let scheduling: Int32 = 5

  /// - Returns: the system's error; `nil` if it succeeded.
  static func enter() -> Errno? {
    // Few threads are created during a pass, so a few passes find all.
    (0..<4).lazy.flatMap { _ in FileManager.default.names(in: "/proc/self/task") }.compactMap { pid_t($0) }
      .compactMap(enter).first
  }

  private static func enter(_ thread: pid_t) -> Errno? {
    var parameters = sched_param()
    guard sched_setscheduler(thread, scheduling, &parameters) == 0, dlm_set_idle_io(thread) == 0 else {
      // A thread may have ended since it was listed.
      return errno == ESRCH ? nil : Errno(rawValue: errno)
    }
    return nil
  }
}
