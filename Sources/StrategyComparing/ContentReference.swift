/// The first run's content, that every later run must have too.
struct ContentReference: Sendable {
  let step: ComparisonPlan.Step
  let digest: String
  let manifest: ContentManifest?

  init(_ step: ComparisonPlan.Step, _ observation: RunObservation) {
    self.step = step
    digest = observation.contentDigest
    manifest = observation.manifest
  }

  /// Why a run does not count; nil if it does.
  /// - Parameter reference: nil for the first run.
  static func objection(
    to observation: RunObservation, of step: ComparisonPlan.Step, reference: ContentReference?
  ) -> InvalidRun? {
    if !observation.failures.isEmpty {
      return InvalidRun(step: step, reason: .failed(observation.failures))
    }
    if observation.files == 0 { return InvalidRun(step: step, reason: .nothingDownloaded) }
    guard let reference, reference.digest != observation.contentDigest else { return nil }
    var difference: ContentDifference?
    if let manifest = observation.manifest, let expected = reference.manifest {
      difference = manifest.firstDifference(from: expected)
    }
    return InvalidRun(step: step, reason: .differs(difference ?? .somewhere, from: reference.step))
  }
}
