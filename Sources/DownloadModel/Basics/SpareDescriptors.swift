import Glibc

/// The last descriptors that this process may open, which are for its libraries: libdispatch opens a file in /proc
/// every second, and ends the process where it cannot. The kernel gives the lowest that is free, so that one of the
/// last shows that all others are in use.
package enum SpareDescriptors {
  private static let count: Int32 = 4
  /// Where they began when this was first asked; a process raises its limit once, if at all.
  private static let known = first

  private static var first: Int32 {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
    return Int32(clamping: limit.rlim_cur) - count
  }

  /// Whether the descriptor, which was just opened, is one of them: then it must be closed, as if there had been none
  /// (EMFILE).
  package static func include(_ descriptor: Int32) -> Bool { descriptor >= known && descriptor >= first }
}
