import DownloadModel

/// Detects a stalled transfer: no byte arrived for a certain time. libcurl's own check (CURLOPT_LOW_SPEED_TIME) counts
/// whole seconds, judges an average, and sets a timer for each transfer.
struct StallWatch {
  /// A transfer has stalled after this many nanoseconds without a byte.
  let limit: UInt64
  /// Nanoseconds between two checks: a stall is detected at most two checks late.
  let interval: UInt64

  init(_ timeout: Duration) {
    limit = max(1_000_000, timeout.nanoseconds)
    interval = min(max(limit / 8, 10_000_000), 1_000_000_000)
  }

  /// The part of the time between two checks that counts: if the loop was delayed, bytes may be waiting.
  func counted(_ elapsed: UInt64) -> UInt64 { min(elapsed, interval * 2) }

  struct Quiet {
    private var bytes: Int64?
    private var time: UInt64 = 0
    /// Bytes between the last two checks; `nil` before the second.
    private(set) var gain: Int64?

    /// - Returns: nanoseconds without a byte, as far as known: zero at the first check.
    mutating func look(_ bytes: Int64, after time: UInt64) -> UInt64 {
      self.time = bytes == self.bytes ? self.time + time : 0
      gain = self.bytes.map { bytes - $0 }
      self.bytes = bytes
      return self.time
    }
  }

  var failure: DownloadError {
    let milliseconds = limit / 1_000_000
    let time = milliseconds % 1000 == 0 ? "\(milliseconds / 1000) s" : "\(milliseconds) ms"
    return DownloadError(.stalled, cause: .detail("no bytes for \(time)"), activity: "receiving", isTransient: true)
  }
}
