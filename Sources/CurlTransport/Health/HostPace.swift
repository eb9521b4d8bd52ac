/// The throughput of a host on one loop, and the reaction to its collapse to less than a tenth for a while. Pure. Only
/// bodies that were received during the whole time between two checks count: short files, waits and pauses say nothing.
struct HostPace: Equatable {
  enum Step: Equatable {
    case goOn, narrow
    /// To the host's next address, for the nth time.
    case move(Int)
  }

  /// In bytes a second: the rate, smoothed because of bursts; its maximum, with the number of transfers then; and the
  /// current rate.
  private var smoothed = 0.0
  private var most = 0.0
  private var width = 1
  private var last = 0.0
  /// In nanoseconds: how long the rate has been too low.
  private var low: UInt64 = 0
  private var steps = 0

  /// - Parameters:
  ///   - time: nanoseconds since the last check that count.
  ///   - patience: how many nanoseconds the rate must be too low.
  mutating func look(_ bytes: Int64, by transfers: Int, after time: UInt64, _ patience: UInt64) -> Step {
    guard transfers > 0, time > 0 else { return .goOn }
    last = Double(bytes) / Double(time) * 1e9
    // Fewer transfers may have a lower rate.
    guard last < most / 10 * min(1, Double(transfers) / Double(width)) else {
      low = 0
      steps = last < most / 2 ? steps : 0
      smoothed += (last - smoothed) * min(1, Double(time) / Double(patience))
      if smoothed > most {
        most = smoothed
        width = transfers
      }
      return .goOn
    }
    low += time
    if low < patience { return .goOn }
    low = 0
    steps = max(steps, transfers > 1 ? 0 : 1) + 1
    return steps == 1 ? .narrow : .move(steps - 1)
  }

  var words: String { "\(Pace.words(Int64(last))), down from \(Pace.words(Int64(most)))" }
}
