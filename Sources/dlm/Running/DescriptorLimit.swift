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

  /// What a run needs before its first file: loops, timers, signals, folders, the index, its list; and one file with its
  /// connection. With fewer, libraries that cannot say so would fail at random: libdispatch, for one, ends the process.
  static let least = 25

  /// Sees to what a run needs where descriptors are few; elsewhere it costs one system call.
  /// - Returns: what to say where there are too few for any run.
  static func prepare() async -> String? {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < 256 else {
      return nil
    }
    let free = (0..<Int32(limit.rlim_cur)).count { fcntl($0, F_GETFD) < 0 }
    guard free >= least else {
      return
        "dlm: Too many open files: \(free) more may be opened, and a run needs \(least); allow more with ulimit -n"
    }
    // libdispatch takes descriptors for its timers at the first sleep, which would never end if none were left then.
    try? await ContinuousClock().sleep(for: .nanoseconds(1))  // nobody cancels the root task
    return nil
  }
}
