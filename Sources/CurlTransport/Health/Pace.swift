import DownloadModel

/// How fast a file comes, over all its segments, as one of its transfers sees it. Only time counts in which its body
/// could come: none before the answer, none in which the run is paused or holds to a rate of its own.
struct Pace {
  private var start: Int64?
  private var time: UInt64 = 0

  /// - Parameters:
  ///   - bytes: those of the file by now; fewer than before where it starts over.
  ///   - time: nanoseconds since the last look, as far as they count.
  /// - Returns: nil unless a window is over in which fewer bytes a second came than must.
  mutating func look(_ bytes: Int64, after time: UInt64, least: Int64, over window: Duration) -> DownloadError? {
    guard let start, bytes >= start else {
      self.start = bytes
      self.time = 0
      return nil
    }
    self.time += time
    guard self.time >= UInt64(window.milliseconds) * 1_000_000 else { return nil }
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
