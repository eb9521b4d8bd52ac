public import DownloadModel

/// The runs of one mode and what they say.
public struct ModeResult: Sendable, Equatable {
  public let mode: DownloadMode
  /// In the order of their rounds.
  public let runs: [RunMeasurement]
  public let times: SampleSummary
  public let warnings: [MeasurementWarning]

  /// - Parameter runs: all of `mode`; nil comes of none.
  public init?(mode: DownloadMode, runs: [RunMeasurement]) {
    guard let times = SampleSummary(runs.map(\.wall)) else { return nil }
    self.mode = mode
    self.runs = runs
    self.times = times
    warnings = MeasurementWarning.all(for: runs, times: times)
  }

  /// Bytes a second over the network at the median time; nil when that is no time at all.
  public var bytesPerSecond: Double? {
    guard times.median > .zero else { return nil }
    let bytes = runs.reduce(0.0) { $0 + Double($1.bytes) } / Double(runs.count)
    return bytes / (times.median / .seconds(1))
  }
}
