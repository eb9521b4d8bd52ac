import DownloadModel
import StrategyComparing
import Synchronization

/// Answers each step of a plan from a script, and remembers which were asked for.
final class ScriptedRuns: Sendable {
  private let steps = Mutex<[ComparisonPlan.Step]>([])
  private let answer: @Sendable (ComparisonPlan.Step) async throws(DownloadError) -> RunObservation

  init(_ answer: @escaping @Sendable (ComparisonPlan.Step) async throws(DownloadError) -> RunObservation) {
    self.answer = answer
  }

  var made: [ComparisonPlan.Step] { steps.withLock { $0 } }

  func run(_ step: ComparisonPlan.Step) async throws(DownloadError) -> RunObservation {
    steps.withLock { $0.append(step) }
    return try await answer(step)
  }

  /// - Parameter names: a letter a request: "a b".
  static func observation(
    milliseconds: Int = 100, files: Int = 2, failures: [RunFailure] = [], digest: String = "same",
    names: String? = nil
  ) -> RunObservation {
    RunObservation(
      wall: .milliseconds(milliseconds), bytes: 1000, files: files, failures: failures, contentDigest: digest,
      manifest: names.map { names in
        ContentManifest(
          files: names.utf8.filter { $0 != 0x20 }.map { letter in
            .init(id: Int(letter), address: String(UnicodeScalar(letter)), digest: digest)
          })
      })
  }
}
