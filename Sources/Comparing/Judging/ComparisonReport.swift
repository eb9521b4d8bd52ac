package import DownloadModel

/// The results of a comparison as data; the command turns them into text.
package struct ComparisonReport: Sendable {
  /// One result for each mode, sequential first, then in the order of `DownloadMode.allCases`, then by width.
  package let results: [ModeResult]
  /// `nil` with fewer than two modes.
  package let conclusion: Conclusion?
  /// The fewest and most bytes of a run, if they differ by more than a hundredth: a cache helped one run, or another
  /// downloaded bytes twice, so the times are not of equal work.
  package let unequalBytes: ClosedRange<Int64>?
  /// Files that failed, and were skipped in all of these runs.
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
    // Differences below a hundredth are bytes that connections of a split file read beyond their segments.
    unequalBytes = most - least > least / 100 ? least...most : nil
  }

  package func result(of mode: ComparedMode) -> ModeResult? { results.first { $0.mode == mode } }

  /// How many times as fast `mode` is as `reference`; `nil` if either was not measured.
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
