import CLinux
import DownloadModel
import FoundationEssentials
import Glibc
import StrategyComparing
import Synchronization
import SystemPackage

enum ProcessUsage {
  static var processorTime: Duration { time(of: CLOCK_PROCESS_CPUTIME_ID) }
  static var threadTime: Duration { time(of: CLOCK_THREAD_CPUTIME_ID) }

  /// clock_gettime(2)
  static func time(of clock: clockid_t) -> Duration {
    var time = timespec()
    // Fails only for an unknown clock or a bad pointer.
    guard clock_gettime(clock, &time) == 0 else { return .zero }
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }

  /// Has `peakMemory` count from now (proc_pid_clear_refs(5)); where the kernel refuses, it stays that of the whole
  /// process.
  static func forgetPeakMemory() {
    let file = try? FileDescriptor.open("/proc/self/clear_refs", .writeOnly, options: [.closeOnExec])
    _ = try? file?.closeAfter { try file?.writeAll("5".utf8) }
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

  /// How far wall clock and monotonic clock have parted: somebody set the one, or the machine slept.
  struct ClockWatch {
    private let wall = time(of: CLOCK_REALTIME)
    private let measuring = time(of: CLOCK_MONOTONIC)

    var jump: Duration {
      let moved = time(of: CLOCK_REALTIME) - wall - (time(of: CLOCK_MONOTONIC) - measuring)
      return moved < .zero ? .zero - moved : moved
    }
  }
}

/// The idle classes of processor and disk time (`--background`). A new thread inherits them from its maker, so all
/// threads get them, again and again until a look finds no new one.
enum IdleClass {
  /// SCHED_IDLE, which Swift's Glibc module does not export.
  private static let scheduling: Int32 = 5
  /// Few threads are made during a look, so a handful of looks is enough.
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
    Set(FileManager.default.names(in: "/proc/self/task").compactMap { pid_t($0) })
  }
}

/// Notes what a run does and takes, for a report of it. From any thread.
final class RunRecorder: Sendable {
  private struct State {
    var start: UInt64 = 0
    var clock: ProcessUsage.ClockWatch?
    var transfers: [TransferTimes] = []
    var details = RunDetails()
  }

  private let state = Lock(State())
  /// Between two looks at the limits of hosts.
  private static let lookInterval = Duration.milliseconds(100)

  func begin() {
    ProcessUsage.forgetPeakMemory()
    state.withLock { state in
      state.clock = ProcessUsage.ClockWatch()
      state.details.processorTime = ProcessUsage.processorTime
      state.start = Self.now
    }
  }

  func add(_ times: TransferTimes) { state.withLock { $0.transfers.append(times) } }

  func ended(_ request: DownloadRequest, _ result: Result<DownloadOutcome, DownloadError>) {
    let now = Self.now
    guard case .success = result else { return }
    state.withLock { $0.details.ends[request.address.key] = .nanoseconds(Int64(clamping: now - $0.start)) }
  }

  func end(mostAtOnce: Int) {
    let (processorTime, peakMemory) = (ProcessUsage.processorTime, ProcessUsage.peakMemory)
    state.withLock { state in
      state.details.processorTime = processorTime - state.details.processorTime
      state.details.peakMemory = peakMemory
      state.details.clockJump = state.clock?.jump ?? .zero
      state.details.mostAtOnce = mostAtOnce
    }
  }

  /// Notes how many connections hosts were found to take, until the task is cancelled.
  func watchHosts(of feed: ProgressFeed) async {
    let reader = feed.reader(of: .events)
    while !Task.isCancelled {
      for host in reader.take().hosts where host.isLearnt {
        state.withLock { $0.details.hostLimits[host.host] = host.limit }
      }
      // A clock's sleep ends early only for a cancelled task.
      try? await Task.sleep(for: Self.lookInterval)
    }
  }

  var details: RunDetails {
    state.withLock { state in
      var details = state.details
      details.transfers = RunDetails(transfers: state.transfers, since: state.start).transfers
      details.retries = details.transfers.count { $0.times.hasFailed && !$0.times.isSegment }
      return details
    }
  }

  /// The clock of the transport's times, in nanoseconds.
  private static var now: UInt64 { UInt64(max(0, ProcessUsage.time(of: CLOCK_MONOTONIC) / .nanoseconds(1))) }
}
