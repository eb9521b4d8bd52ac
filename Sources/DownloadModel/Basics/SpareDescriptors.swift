import Glibc

/// The last descriptors that this process may open, reserved for its libraries: libdispatch opens a file in /proc every
/// second, and terminates the process if it cannot; SQLite keeps five for the index. The kernel assigns the lowest free
/// number, so one of the last shows that all others are in use.
package enum SpareDescriptors {
  private static let count: Int32 = 8
  /// The first of them when this was first read; a process raises its limit once, if at all.
  private static let known = first

  private static var first: Int32 {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
    return Int32(clamping: limit.rlim_cur) - count
  }

  /// Whether a newly opened descriptor is one of them: then it must be closed, as if none had been free (EMFILE).
  package static func include(_ descriptor: Int32) -> Bool { descriptor >= known && descriptor >= first }
}
