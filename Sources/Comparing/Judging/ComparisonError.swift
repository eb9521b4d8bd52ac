package import DownloadModel

package enum ComparisonError: Error, Sendable, Equatable {
  /// With what had been measured by then.
  case cancelled([RunMeasurement])
  /// A run downloaded something else, or not all of it: times are comparable only when the work was the same.
  case invalid(ComparisonPlan.Step, Objection)
  case broken(ComparisonPlan.Step, DownloadError)

  package enum Objection: Sendable, Equatable {
    case failed([DownloadError])
    /// No file was downloaded, and none failed.
    case nothingDownloaded
    /// Files differ from those of the plan's first run; which of the two is wrong is unknown.
    case differs(ContentDifference, from: ComparisonPlan.Step)
  }
}
