package import DownloadModel

package enum ComparisonError: Error, Sendable, Equatable {
  /// With the measurements so far.
  case cancelled([RunMeasurement])
  /// A run downloaded other files, or not all of them: times are comparable only for equal work.
  case invalid(ComparisonPlan.Step, Objection)
  case broken(ComparisonPlan.Step, DownloadError)

  package enum Objection: Sendable, Equatable {
    case failed([DownloadError])
    /// No file was downloaded, and none failed.
    case nothingDownloaded
    /// Files differ from those of the plan's first run; which of the two is wrong is unknown.
    case differs(ContentManifest.Difference, from: ComparisonPlan.Step)
  }
}
