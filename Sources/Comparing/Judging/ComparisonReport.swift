package import DownloadModel
import TerminalProgress

/// What a comparison found; the front door makes the words of it.
package struct ComparisonReport: Sendable, Equatable {
  /// A mode each, sequential first, then by their names in the order of `DownloadMode.allCases`, then by width.
  package let results: [ModeResult]
  /// nil with fewer than two modes.
  package let conclusion: Conclusion?
  /// Least and most bytes that a run moved over the network, when they differ by more than a hundredth: a cache helped
  /// one, or another fetched something twice, and the times are not of equal work.
  package let unequalBytes: ClosedRange<Int64>?
  /// Files that failed, and are no part of any of these runs.
  package let leftOut: [DownloadError]

  /// - Parameter measurements: in any order.
  package init(measurements: [RunMeasurement], leftOut: [DownloadError] = []) {
    self.leftOut = leftOut
    let runs = Dictionary(grouping: measurements.sorted { $0.round < $1.round }, by: \.mode)
    results = runs.keys.sorted().compactMap { ModeResult(mode: $0, runs: runs[$0] ?? []) }
    conclusion = Conclusion(results)
    let bytes = measurements.map(\.bytes)
    let least = bytes.min() ?? 0
    let most = bytes.max() ?? 0
    // Below a hundredth it is what the connections of a split file read too much.
    unequalBytes = most - least > least / 100 ? least...most : nil
  }

  package func result(of mode: ComparedMode) -> ModeResult? { results.first { $0.mode == mode } }

  /// How many times as fast `mode` is as `reference`; nil when either was not measured.
  package func speed(of mode: ComparedMode, against reference: ComparedMode) -> RelativeSpeed? {
    guard let own = result(of: mode), let other = result(of: reference) else { return nil }
    return RelativeSpeed(of: own, against: other)
  }
}

extension Duration {
  func distance(to other: Duration) -> Duration { self < other ? other - self : self - other }
}

extension TransferTimes {
  var connecting: Duration { secured ?? connected ?? .zero }
  var waiting: Duration { max(.zero, (firstByte ?? end) - connecting) }
}
