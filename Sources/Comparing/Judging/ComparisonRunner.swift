package import DownloadModel

/// Carries out a plan: one run at a time, because two at once would measure each other.
package struct ComparisonRunner: Sendable {
  /// Runs a mode once over the whole list, into an empty folder, with an empty cache and no open connection, so that no
  /// run profits from another. It throws if the run could not be made; files that fail are in the observation.
  /// - Parameters:
  ///   - leftOut: the URLs to skip, without credentials.
  ///   - measured: the measurements so far.
  package typealias Execute =
    @Sendable (
      _ step: ComparisonPlan.Step, _ leftOut: Set<String>, _ measured: [RunMeasurement]
    ) async throws(DownloadError) -> Observation

  package enum News: Sendable {
    /// A valid run has ended, a warm-up included; with the measurements so far.
    case ran(ComparisonPlan.Step, Observation, measured: [RunMeasurement])
    /// These files failed. The comparison starts over without them.
    case leftOut([DownloadError])
  }

  private let plan: ComparisonPlan
  private let isStrict: Bool
  private let onNews: @Sendable (News) -> Void
  /// A limit, because files that fail in every other run would restart the comparison forever.
  private static let mostBeginnings = 4

  /// - Parameter isStrict: whether a file that fails ends the comparison. Otherwise the comparison starts over without
  ///   it, because times of a list with failures are not times of the other files.
  package init(plan: ComparisonPlan, isStrict: Bool = true, onNews: @escaping @Sendable (News) -> Void = { _ in }) {
    self.plan = plan
    self.isStrict = isStrict
    self.onNews = onNews
  }

  /// Runs the whole plan, until a run invalidates it or the task is cancelled.
  package func compare(execute: Execute) async throws(ComparisonError) -> ComparisonReport {
    var leftOut: [DownloadError] = []
    var beginnings = 0
    beginning: while true {
      beginnings += 1
      var measurements: [RunMeasurement] = []
      var first: (step: ComparisonPlan.Step, manifest: ContentManifest)?
      let addresses = Set(leftOut.compactMap(\.address))
      for step in plan.steps {
        if Task.isCancelled { throw .cancelled(measurements) }
        let run: Observation
        do { run = try await execute(step, addresses, measurements) } catch {
          throw error.code == .cancelled ? .cancelled(measurements) : .broken(step, error)
        }
        // A cancelled run may look complete or broken; it is neither slow nor wrong.
        if Task.isCancelled { throw .cancelled(measurements) }
        if !run.failures.isEmpty, run.measurement.files > 0, !isStrict, beginnings < Self.mostBeginnings {
          onNews(.leftOut(run.failures))
          leftOut += run.failures
          continue beginning
        }
        if let reason = Self.objection(to: run, first) { throw .invalid(step, reason) }
        first = first ?? (step, run.manifest)
        if !step.isWarmUp { measurements.append(run.measurement) }
        onNews(.ran(step, run, measured: measurements))
      }
      return ComparisonReport(measurements: measurements, leftOut: leftOut)
    }
  }

  private static func objection(
    to run: Observation, _ first: (step: ComparisonPlan.Step, manifest: ContentManifest)?
  ) -> ComparisonError.Objection? {
    if !run.failures.isEmpty { return .failed(run.failures) }
    if run.measurement.files == 0 { return .nothingDownloaded }
    guard let first else { return nil }
    return run.manifest.firstDifference(from: first.manifest).map { .differs($0, from: first.step) }
  }

  package struct Observation: Sendable {
    /// Its time is from before the first request until the last file has its name, without hashing and cleaning up.
    package let measurement: RunMeasurement
    /// Each with its URL.
    package let failures: [DownloadError]
    package let manifest: ContentManifest

    package init(_ measurement: RunMeasurement, failures: [DownloadError] = [], manifest: ContentManifest) {
      self.measurement = measurement
      self.failures = failures
      self.manifest = manifest
    }
  }
}
