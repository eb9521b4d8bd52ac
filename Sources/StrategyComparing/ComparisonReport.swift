public import DownloadModel

/// What a comparison found. Values only; the front door makes the words and the table.
public struct ComparisonReport: Sendable, Equatable {
  /// A mode each, in the order of `DownloadMode.allCases`.
  public let results: [ModeResult]
  /// nil with fewer than two modes.
  public let conclusion: Conclusion?

  /// Least and most bytes that a run moved over the network, when not all moved the same: a cache helped one,
  /// or another fetched something twice, and the times are not of equal work. nil when that is less than a hundredth.
  public let unequalBytes: ClosedRange<Int64>?

  /// - Parameter measurements: counted runs in any order.
  public init(measurements: [RunMeasurement]) {
    let runs = Dictionary(grouping: measurements.sorted { $0.round < $1.round }, by: \.mode)
    results = DownloadMode.allCases.compactMap { ModeResult(mode: $0, runs: runs[$0] ?? []) }
    conclusion = Conclusion(results)
    let bytes = measurements.map(\.bytes)
    // Below a hundredth it is what the connections of a split file read too much.
    if let least = bytes.min(), let most = bytes.max(), most - least > least / 100 {
      unequalBytes = least...most
    } else {
      unequalBytes = nil
    }
  }

  public func result(of mode: DownloadMode) -> ModeResult? { results.first { $0.mode == mode } }

  /// How many times as fast `mode` is as `reference`; nil when either was not measured.
  public func speed(of mode: DownloadMode, against reference: DownloadMode) -> RelativeSpeed? {
    guard let own = result(of: mode), let other = result(of: reference) else { return nil }
    return RelativeSpeed(of: own.times, against: other.times)
  }
}
