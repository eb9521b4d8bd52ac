/// A run that makes a comparison worthless: times are comparable only when the work was the same.
public struct InvalidRun: Sendable, Equatable {
  public let step: ComparisonPlan.Step
  public let reason: Reason

  public enum Reason: Sendable, Equatable {
    /// These files were not downloaded.
    case failed([RunFailure])
    /// Not one file was downloaded, and none failed.
    case nothingDownloaded
    /// Files differ from those of the plan's first run. Which of the two is wrong cannot be told from here.
    case differs(ContentDifference, from: ComparisonPlan.Step)
  }

  public init(step: ComparisonPlan.Step, reason: Reason) {
    self.step = step
    self.reason = reason
  }
}
