import DownloadModel

/// The rate of a file, over all its segments, as seen by one of its transfers. Only time in which its body could arrive
/// counts: not the wait for the answer, not a pause of the run or of a rate limit.
struct Pace {
  private var start: Int64?
  private var time: UInt64 = 0

  /// - Parameters:
  ///   - bytes: of the file so far; fewer than before if it starts over.
  ///   - time: nanoseconds since the last check that count.
  /// - Returns: `nil` unless a window has ended in which the rate was below the minimum.
  mutating func look(_ bytes: Int64, after time: UInt64, least: Int64, over window: Duration) -> DownloadError? {
    guard let start, bytes >= start else {
      self.start = bytes
      self.time = 0
      return nil
    }
    self.time += time
    guard self.time >= window.nanoseconds else { return nil }
    let rate = Int64(Double(bytes - start) / (Double(self.time) / 1e9))
    self.start = bytes
    self.time = 0
    if rate >= least { return nil }
    let detail = "\(Self.words(rate)) over \(window.components.seconds) s"
    return DownloadError(.tooSlow, cause: .detail(detail), activity: "receiving", isTransient: true)
  }

  static func words(_ rate: Int64) -> String {
    rate < 10_240 ? "\(rate) B/s" : rate < 10_240 << 10 ? "\(rate >> 10) KiB/s" : "\(rate >> 20) MiB/s"
  }
}
