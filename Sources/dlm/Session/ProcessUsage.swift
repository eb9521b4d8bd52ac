import Glibc
import SystemPackage

/// What this process takes of the machine.
enum ProcessUsage {
  /// Of all its threads.
  static var processorTime: Duration { time(of: CLOCK_PROCESS_CPUTIME_ID) }
  /// Of the calling thread.
  static var threadTime: Duration { time(of: CLOCK_THREAD_CPUTIME_ID) }

  /// clock_gettime(2)
  static func time(of clock: clockid_t) -> Duration {
    var time = timespec()
    // Fails only for an unknown clock or a bad pointer.
    guard clock_gettime(clock, &time) == 0 else { return .zero }
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }

  /// From now on `peakMemory` is that of the time since (proc_pid_clear_refs(5)). Where the kernel refuses, it stays
  /// that of the whole process.
  static func forgetPeakMemory() {
    guard let file = try? FileDescriptor.open("/proc/self/clear_refs", .writeOnly, options: [.closeOnExec]) else {
      return
    }
    _ = try? file.closeAfter { try file.writeAll("5".utf8) }
  }

  /// Bytes in memory at their peak; nil where the kernel does not tell (proc_pid_status(5), VmHWM).
  static var peakMemory: Int64? {
    guard let file = try? FileDescriptor.open("/proc/self/status", .readOnly, options: [.closeOnExec]),
      let text = try? file.closeAfter({ try file.block(16 * 1024) })
    else { return nil }
    return peak(inStatus: String(decoding: text, as: UTF8.self))
  }

  static func peak(inStatus text: String) -> Int64? {
    for line in text.split(separator: "\n") where line.hasPrefix("VmHWM:") {
      let words = line.dropFirst("VmHWM:".count).split { $0 == " " || $0 == "\t" }
      return words.first.flatMap { Int64($0) }.map { $0 * 1024 }
    }
    return nil
  }

  /// How far the clock on the wall has moved beside the one that measures: more where somebody set it, or where the
  /// machine slept.
  struct ClockWatch {
    private let wall = time(of: CLOCK_REALTIME)
    private let measuring = time(of: CLOCK_MONOTONIC)

    var jump: Duration {
      let moved = time(of: CLOCK_REALTIME) - wall - (time(of: CLOCK_MONOTONIC) - measuring)
      return moved < .zero ? .zero - moved : moved
    }
  }
}
