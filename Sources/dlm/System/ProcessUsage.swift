import FoundationEssentials
import Glibc
import SystemPackage

enum ProcessUsage {
  static var processorTime: Duration { time(of: CLOCK_PROCESS_CPUTIME_ID) }

  static func time(of clock: clockid_t) -> Duration {
    var time = timespec()
    // Fails only for an unknown clock or a bad pointer.
    guard clock_gettime(clock, &time) == 0 else { return .zero }
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }

  /// Makes `peakMemory` count from now (proc_pid_clear_refs(5)); if the kernel refuses, it stays that of the whole
  /// process.
  static func forgetPeakMemory() {
    let file = try? FileDescriptor.open("/proc/self/clear_refs", .writeOnly, options: [.closeOnExec])
    _ = try? file?.closeAfter { try file?.writeAll("5".utf8) }
  }

  /// The peak memory in bytes; `nil` if the kernel does not report it (proc_pid_status(5), VmHWM).
  static var peakMemory: Int64? {
    FileDescriptor.bytes(of: "/proc/self/status", upTo: 16 * 1024)
      .flatMap { peak(inStatus: String(decoding: $0, as: UTF8.self)) }
  }

  static func peak(inStatus text: String) -> Int64? {
    text.firstMatch(of: /VmHWM:\s*(\d+)/).flatMap { Int64($0.1) }.map { $0 * 1024 }
  }
}
