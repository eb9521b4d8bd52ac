import CCurl
import DownloadModel

/// When a transfer has stalled: no byte for so long.
///
/// libcurl's own watch (CURLOPT_LOW_SPEED_TIME) knows whole seconds, judges an average of the last ones, which takes a
/// stall of two seconds for one of eight, and sets a timer for each transfer. Here all transfers of a loop are looked at
/// now and then; a byte costs nothing but the count that is kept anyway.
struct StallWatch {
  /// Nanoseconds without a byte that are a stall.
  let limit: UInt64
  /// Nanoseconds from one look to the next: a stall is found two looks late at most.
  let interval: UInt64

  init(_ timeout: Duration) {
    limit = UInt64(max(1, timeout.milliseconds)) * 1_000_000
    interval = min(max(limit / 8, 10_000_000), 1_000_000_000)
  }

  /// The time that counts between two looks: a loop that was held up (a slow disk, SIGSTOP) may have bytes waiting.
  func counted(_ elapsed: UInt64) -> UInt64 { min(elapsed, interval * 2) }

  /// What one transfer had brought at the last look, and how long that has been so.
  struct Quiet {
    private var bytes: Int64?
    private var time: UInt64 = 0

    /// - Parameters:
    ///   - bytes: header and body bytes of the transfer so far.
    ///   - time: nanoseconds since the last look.
    /// - Returns: nanoseconds without a byte, as far as they are known: at the first look none.
    mutating func look(_ bytes: Int64, after time: UInt64) -> UInt64 {
      self.time = bytes == self.bytes ? self.time + time : 0
      self.bytes = bytes
      return self.time
    }
  }
}

extension CurlTransfer {
  /// Header and body bytes so far.
  private var arrived: Int64 { current.map { Int64(assembler.size) + $0.received + $0.drained } ?? 0 }

  /// - Parameter time: nanoseconds since the last look.
  func hasStalled(_ watch: StallWatch, after time: UInt64) -> Bool {
    // While it has no connection, CURLOPT_CONNECTTIMEOUT_MS sees to it; that time is none of this one's.
    // Nor while a body is drained, which has an end of its own.
    guard easy.offset(CURLINFO_PRETRANSFER_TIME_T) > 0, current?.drainsUntil == nil else {
      quiet = StallWatch.Quiet()
      return false
    }
    return quiet.look(arrived, after: time) >= watch.limit
  }
}

extension StallWatch {
  var failure: DownloadError {
    let milliseconds = limit / 1_000_000
    let time = milliseconds % 1000 == 0 ? "\(milliseconds / 1000) s" : "\(milliseconds) ms"
    return DownloadError(
      .stalled, cause: .detail("none in \(time)"), activity: "receiving", isPassing: true)
  }
}
