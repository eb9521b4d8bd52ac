import Glibc

/// How many files and connections this process may have open.
enum DescriptorLimit {
  /// Takes what the system allows at the most (RLIMIT_NOFILE's hard limit): the usual soft limit of 1024 is for programs
  /// that use select(2), and a run of many large files in parts may need more.
  static func raise() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0,
      limit.rlim_cur < limit.rlim_max
    else { return }
    limit.rlim_cur = limit.rlim_max
    // Refused, the run goes on with what it has; a connection too many is a failure that names its address.
    _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }
}
