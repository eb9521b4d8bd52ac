public import DownloadModel

/// One valid, counted run of a mode.
public struct RunMeasurement: Sendable, Equatable {
  public let mode: DownloadMode
  /// From 1: the round of the plan.
  public let round: Int
  public let wall: Duration
  public let files: Int
  /// Body bytes that came over the network.
  public let bytes: Int64
  /// A fingerprint of every request and its file's bytes together; the same in every run of a valid comparison.
  public let contentDigest: String

  public init(
    mode: DownloadMode, round: Int, wall: Duration, files: Int, bytes: Int64, contentDigest: String
  ) {
    self.mode = mode
    self.round = round
    self.wall = wall
    self.files = files
    self.bytes = bytes
    self.contentDigest = contentDigest
  }

  init(_ step: ComparisonPlan.Step, _ observation: RunObservation) {
    self.init(
      mode: step.mode, round: step.round, wall: observation.wall, files: observation.files,
      bytes: observation.bytes, contentDigest: observation.contentDigest)
  }
}
