import DownloadModel
import FoundationEssentials
import Glibc
import Comparing
import Synchronization

/// Records the transfers and resources of a run, for a report. Thread-safe.
final class RunRecorder: Sendable {
  private let recorded = Lock(RunDetails())
  /// Polling interval for the limits of hosts.
  private static let lookInterval = Duration.milliseconds(100)

  func begin() {
    ProcessUsage.forgetPeakMemory()
    recorded.withLock { run in
      run.processorTime = ProcessUsage.processorTime
      run.start = Self.now
    }
  }

  func add(_ times: TransferTimes) { recorded.withLock { $0.transfers.append(times) } }

  func ended(_ request: DownloadRequest, _ result: DownloadResult) {
    let now = Self.now
    guard case .success(let outcome) = result else { return }
    recorded.withLock { run in
      run.ends[request.address.key] = .nanoseconds(Int64(clamping: now - run.start))
      // An equal request, which was answered with this one's file, has none.
      if let bytes = outcome.bodyBytes { run.bytes[request.address.key] = bytes }
    }
  }

  func end(_ width: RunWidth) {
    let processorTime = ProcessUsage.processorTime
    let peakMemory = ProcessUsage.peakMemory
    recorded.withLock { run in
      run.processorTime = processorTime - run.processorTime
      run.peakMemory = peakMemory
      run.mostAtOnce = width.peak
      run.waited = width.waited
    }
  }

  /// Records the connection limits of hosts, until the task is cancelled.
  func watchHosts(of feed: ProgressFeed) async {
    let reader = feed.reader(of: .events)
    while !Task.isCancelled {
      for host in reader.take().hosts where host.isLearnt {
        recorded.withLock { $0.hostLimits[host.host] = host.limit }
      }
      // A clock's sleep ends early only for a cancelled task.
      try? await Task.sleep(for: Self.lookInterval)
    }
  }

  var details: RunDetails { recorded.withLock { $0 } }

  /// The clock of the transport's times, in nanoseconds.
  private static var now: UInt64 { UInt64(ProcessUsage.time(of: CLOCK_MONOTONIC) / .nanoseconds(1)) }
}
