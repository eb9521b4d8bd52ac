import DownloadModel

/// What a run in mode auto would have done with the list, as far as the compared runs show it.
///
/// It follows the rule by which such a run decides (`AdaptiveConcurrency`): two files at a time to begin with, more of
/// them every few milliseconds until the first has ended, and from then on as long as more bring more.
public enum AutoForecast: Sendable, Equatable {
  /// A file takes so long that many are asked for before the first has ended.
  case manyAtOnce(perFile: Duration)
  /// More files at a time bring more.
  case moreAndMore(gain: Double)
  /// The list is over before more could show a gain.
  case fewForShort
  /// More files at a time bring no more.
  case fewForNoGain

  /// A file that takes longer than this is not waited for.
  private static let longFile = Duration.milliseconds(20)
  /// A run of two at a time that takes no longer is left as it is.
  private static let shortRun = Duration.milliseconds(40)
  private static let leastGain = 1.05

  /// - Returns: nil where auto was one of the modes, or the runs do not show it.
  public static func of(_ report: ComparisonReport) -> AutoForecast? {
    guard !report.results.contains(where: { $0.mode.mode == .auto }),
      let one = report.result(of: .sequential), one.medianRun.files > 1,
      let wide = report.results.filter({ $0.mode != .sequential }).min(by: {
        $0.times.median < $1.times.median
      })
    else { return nil }
    let run = one.medianRun
    let perFile = run.wall / run.files
    if perFile > longFile { return .manyAtOnce(perFile: perFile) }
    if run.wall / 2 < shortRun { return .fewForShort }
    switch report.conclusion?.certainty {
    case .tie, .withinScatter: return .fewForNoGain
    default: break
    }
    let gain = one.times.median / max(wide.times.median, .nanoseconds(1))
    return gain > leastGain ? .moreAndMore(gain: gain) : .fewForNoGain
  }
}
