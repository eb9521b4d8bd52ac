public import DownloadModel

/// Carries out a plan: one run at a time, because two at once would measure each other.
public struct ComparisonRunner: Sendable {
  /// Runs a mode once over the whole list, from a cold start: into an empty folder, with an empty cache and
  /// no open connection, so that no run profits from the one before.
  ///
  /// A file that fails is told in the observation; only what keeps the run from being made is thrown.
  public typealias Execute = @Sendable (ComparisonPlan.Step) async throws(DownloadError) -> RunObservation

  private let plan: ComparisonPlan
  private let onRun: @Sendable (ComparisonPlan.Step, RunObservation) -> Void

  /// - Parameter onRun: told of each valid run when it has ended, warm-ups too.
  public init(
    plan: ComparisonPlan,
    onRun: @escaping @Sendable (ComparisonPlan.Step, RunObservation) -> Void = { _, _ in }
  ) {
    self.plan = plan
    self.onRun = onRun
  }

  /// Runs the whole plan, and stops at the first run that makes it worthless.
  ///
  /// Cancelling the task ends it before the next run; the run under way ends as `execute` obeys cancellation.
  public func compare(execute: Execute) async throws(ComparisonError) -> ComparisonReport {
    var measurements: [RunMeasurement] = []
    var reference: ContentReference?
    for step in plan.steps {
      if Task.isCancelled { throw .cancelled(measurements) }
      let observation: RunObservation
      do {
        observation = try await execute(step)
      } catch {
        throw error.code == .cancelled ? .cancelled(measurements) : .broken(step, error)
      }
      // A cancelled run may look whole or broken; it is neither slow nor wrong, it was stopped.
      if Task.isCancelled { throw .cancelled(measurements) }
      if let invalid = ContentReference.objection(to: observation, of: step, reference: reference) {
        throw .invalid(invalid)
      }
      reference = reference ?? ContentReference(step, observation)
      onRun(step, observation)
      if !step.isWarmUp { measurements.append(RunMeasurement(step, observation)) }
    }
    return ComparisonReport(measurements: measurements)
  }
}
