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

/// Why there is no report.
public enum ComparisonError: Error, Sendable, Equatable {
  /// Cancelled on the way; what had been measured by then.
  case cancelled([RunMeasurement])
  /// A run downloaded something else, or not all of it.
  case invalid(InvalidRun)
  /// A run could not be made at all.
  case broken(ComparisonPlan.Step, DownloadError)
}

/// What one run of a mode did.
public struct RunObservation: Sendable {
  /// From before the first request to after the last file stood under its name; hashing and clearing up not
  /// counted.
  public var wall: Duration
  /// Body bytes that came over the network.
  public var bytes: Int64
  /// How many files stand under their names.
  public var files: Int
  public var failures: [RunFailure]
  /// A fingerprint of every request and its file's bytes together.
  public var contentDigest: String
  /// The same file by file, so that a difference can be named; nil for lists too long to keep.
  public var manifest: ContentManifest?

  public init(
    wall: Duration, bytes: Int64, files: Int, failures: [RunFailure] = [], contentDigest: String,
    manifest: ContentManifest? = nil
  ) {
    self.wall = wall
    self.bytes = bytes
    self.files = files
    self.failures = failures
    self.contentDigest = contentDigest
    self.manifest = manifest
  }
}

/// A file that a run did not get.
public struct RunFailure: Sendable, Equatable {
  /// Without credentials.
  public var address: String
  public var error: DownloadError

  public init(address: String, error: DownloadError) {
    self.address = address
    self.error = error
  }
}

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

/// Which mode runs when.
///
/// The modes are interleaved and the order moves on by one each round, so that a network that gets faster or
/// a cache that gets warmer over time favours no mode, and none always goes first.
public struct ComparisonPlan: Sendable, Equatable {
  /// One run of one mode.
  public struct Step: Sendable, Hashable {
    public let mode: DownloadMode
    /// From 1. Warm-up rounds are numbered by themselves, from 1 as well.
    public let round: Int
    /// Its time is not counted; its files must be right all the same.
    public let isWarmUp: Bool

    public init(mode: DownloadMode, round: Int, isWarmUp: Bool = false) {
      self.mode = mode
      self.round = round
      self.isWarmUp = isWarmUp
    }
  }

  public let modes: [DownloadMode]
  public let steps: [Step]

  /// - Parameters:
  ///   - modes: named twice counts once; the first is the first of the first round.
  ///   - runs: how often each mode is measured; less than 1 counts as 1.
  ///   - warmUpRounds: rounds before that, which are not measured.
  public init(modes: [DownloadMode], runs: Int, warmUpRounds: Int = 0) {
    var distinct: [DownloadMode] = []
    for mode in modes where !distinct.contains(mode) { distinct.append(mode) }
    self.modes = distinct
    steps =
      Self.rounds(max(0, warmUpRounds), of: distinct, isWarmUp: true)
      + Self.rounds(max(1, runs), of: distinct, isWarmUp: false)
  }

  private static func rounds(_ count: Int, of modes: [DownloadMode], isWarmUp: Bool) -> [Step] {
    (0..<count).flatMap { round in
      modes.indices.map { place in
        Step(mode: modes[(place + round) % modes.count], round: round + 1, isWarmUp: isWarmUp)
      }
    }
  }
}
