import DownloadModel
import FoundationEssentials
import Glibc
import Comparing
import Synchronization

/// Records the transfers and resources of a run, for a report. Thread-safe.
final class RunRecorder: Sendable {
  private struct State {
    var start: UInt64 = 0
    var transfers: [TransferTimes] = []
    var details = RunDetails()
  }

  private let state = Lock(State())
  /// Polling interval for the limits of hosts.
  private static let lookInterval = Duration.milliseconds(100)

  func begin() {
    ProcessUsage.forgetPeakMemory()
    state.withLock { state in
      state.details.processorTime = ProcessUsage.processorTime
      state.start = Self.now
    }
  }

  func add(_ times: TransferTimes) { state.withLock { $0.transfers.append(times) } }

  func ended(_ request: DownloadRequest, _ result: DownloadResult) {
    let now = Self.now
    guard case .success(let outcome) = result else { return }
    state.withLock { state in
      state.details.ends[request.address.key] = .nanoseconds(Int64(clamping: now - state.start))
      // An equal request, which was answered with this one's file, has none.
      if let bytes = outcome.bodyBytes { state.details.bytes[request.address.key] = bytes }
    }
  }

  func end(_ width: RunWidth) {
    let processorTime = ProcessUsage.processorTime
    let peakMemory = ProcessUsage.peakMemory
    state.withLock { state in
      state.details.processorTime = processorTime - state.details.processorTime
      state.details.peakMemory = peakMemory
      state.details.mostAtOnce = width.peak
      state.details.waited = width.waited
    }
  }

  /// Records the connection limits of hosts, until the task is cancelled.
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
