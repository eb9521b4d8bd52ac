public import DownloadModel

/// Why there is no report.
public enum ComparisonError: Error, Sendable, Equatable {
  /// Cancelled on the way; what had been measured by then.
  case cancelled([RunMeasurement])
  /// A run downloaded something else, or not all of it.
  case invalid(InvalidRun)
  /// A run could not be made at all.
  case broken(ComparisonPlan.Step, DownloadError)
}
