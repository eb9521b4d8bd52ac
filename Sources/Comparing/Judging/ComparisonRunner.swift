public import DownloadModel

/// Carries out a plan: one run at a time, because two at once would measure each other.
public struct ComparisonRunner: Sendable {
  /// Runs a mode once over the whole list, from a cold start: into an empty folder, with an empty cache and no open
  /// connection, so that no run profits from the one before.
  ///
  /// A file that fails is told in the observation; only what keeps the run from being made is thrown.
  /// - Parameter leftOut: the addresses that are no part of it, as `RunFailure` names them.
  public typealias Execute =
    @Sendable (_ step: ComparisonPlan.Step, _ leftOut: Set<String>) async throws(DownloadError) ->
    RunObservation

  /// What is done about files that fail.
  public enum Failing: Sendable {
    /// They are left out of all runs, and the comparison begins anew without them: times of a list of which some fails
    /// are not times of the rest of it.
    case leftOut
    /// The comparison ends.
    case fatal
  }

  /// What is told while it goes on.
  public enum News: Sendable {
    /// A valid run has ended, a warm-up too.
    case ran(ComparisonPlan.Step, RunObservation)
    /// What has been measured so far.
    case measured([RunMeasurement])
    /// These files failed. The comparison begins anew, without them.
    case leftOut([RunFailure])
  }

  private let plan: ComparisonPlan
  private let failing: Failing
  private let onNews: @Sendable (News) -> Void
  /// Files that fail in every other run would never come to an end.
  private static let mostBeginnings = 4

  public init(
    plan: ComparisonPlan, failing: Failing = .fatal, onNews: @escaping @Sendable (News) -> Void = { _ in }
  ) {
    self.plan = plan
    self.failing = failing
    self.onNews = onNews
  }

  /// Runs the whole plan, and stops at the first run that makes it worthless.
  ///
  /// Cancelling the task ends it before the next run; the run under way ends as `execute` obeys cancellation.
  public func compare(execute: Execute) async throws(ComparisonError) -> ComparisonReport {
    var leftOut: [RunFailure] = []
    var beginnings = 0
    while true {
      beginnings += 1
      do throws(Again) {
        let measurements = try await carryOut(without: leftOut, execute)
        return ComparisonReport(measurements: measurements, leftOut: leftOut)
      } catch {
        switch error {
        case .ended(let error): throw error
        case .failed(let failures, let run):
          if beginnings == Self.mostBeginnings { throw .invalid(run) }
          onNews(.leftOut(failures))
          leftOut += failures
        }
      }
    }
  }

  private enum Again: Error {
    case ended(ComparisonError)
    case failed([RunFailure], InvalidRun)
  }

  private func carryOut(
    without leftOut: [RunFailure], _ execute: Execute
  ) async throws(Again) -> [RunMeasurement] {
    var measurements: [RunMeasurement] = []
    var reference: ContentReference?
    let names = Set(leftOut.map(\.address))
    for step in plan.steps {
      if Task.isCancelled { throw .ended(.cancelled(measurements)) }
      let observation: RunObservation
      do {
        observation = try await execute(step, names)
      } catch {
        throw .ended(error.code == .cancelled ? .cancelled(measurements) : .broken(step, error))
      }
      // A cancelled run may look whole or broken; it is neither slow nor wrong, it was stopped.
      if Task.isCancelled { throw .ended(.cancelled(measurements)) }
      if let invalid = ContentReference.objection(to: observation, of: step, reference: reference) {
        guard case .failed(let failures) = invalid.reason, failing == .leftOut, observation.files > 0 else {
          throw .ended(.invalid(invalid))
        }
        throw .failed(failures, invalid)
      }
      reference = reference ?? ContentReference(step, observation)
      onNews(.ran(step, observation))
      if !step.isWarmUp {
        measurements.append(RunMeasurement(step, observation))
        onNews(.measured(measurements))
      }
    }
    return measurements
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
  /// From before the first request to after the last file stood under its name; hashing and clearing up not counted.
  public var wall: Duration
  /// Body bytes that came over the network.
  public var bytes: Int64
  /// How many files stand under their names.
  public var files: Int
  public var failures: [RunFailure]
  /// Every request and its file's bytes.
  public var manifest: ContentManifest
  public var details: RunDetails

  public init(
    wall: Duration, bytes: Int64, files: Int, failures: [RunFailure] = [],
    manifest: ContentManifest, details: RunDetails = RunDetails()
  ) {
    self.wall = wall
    self.bytes = bytes
    self.files = files
    self.failures = failures
    self.manifest = manifest
    self.details = details
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
/// The modes are interleaved and the order moves on by one each round, so that a network that gets faster or a cache
/// that gets warmer over time favours no mode, and none always goes first. After as many rounds as there are modes the
/// order is drawn anew, so that none always comes behind the same other.
public struct ComparisonPlan: Sendable, Equatable {
  /// One run of one mode.
  public struct Step: Sendable, Hashable {
    public let mode: ComparedMode
    /// From 1. Warm-up rounds are numbered by themselves, from 1 as well.
    public let round: Int
    /// Its time is not counted; its files must be right all the same.
    public let isWarmUp: Bool

    public init(mode: ComparedMode, round: Int, isWarmUp: Bool = false) {
      self.mode = mode
      self.round = round
      self.isWarmUp = isWarmUp
    }
  }

  public let modes: [ComparedMode]
  public let steps: [Step]

  /// - Parameters:
  ///   - modes: named twice counts once; the first is the first of the first round.
  ///   - runs: how often each mode is measured; less than 1 counts as 1.
  ///   - warmUpRounds: rounds before that, which are not measured.
  ///   - seed: of the order; nil for that of `modes`.
  public init(modes: [ComparedMode], runs: Int, warmUpRounds: Int = 0, seed: UInt64? = nil) {
    var distinct: [ComparedMode] = []
    for mode in modes where !distinct.contains(mode) { distinct.append(mode) }
    self.modes = distinct
    var draw = seed.map { SeededGenerator($0) }
    steps =
      Self.rounds(max(0, warmUpRounds), of: distinct, isWarmUp: true, &draw)
      + Self.rounds(max(1, runs), of: distinct, isWarmUp: false, &draw)
  }

  private static func rounds(
    _ count: Int, of modes: [ComparedMode], isWarmUp: Bool, _ draw: inout SeededGenerator?
  ) -> [Step] {
    var order = modes
    return (0..<count).flatMap { round in
      if round.isMultiple(of: max(1, modes.count)), var some = draw {
        order.shuffle(using: &some)
        draw = some
      }
      return order.indices.map { place in
        Step(mode: order[(place + round) % order.count], round: round + 1, isWarmUp: isWarmUp)
      }
    }
  }
}
