import DownloadModel
import Synchronization
import TestSupport
import Testing

@testable import Comparing

@Suite("Carrying out a comparison", .timeLimit(.minutes(hangMinutes)))
struct ComparisonRunnerTests {
  private typealias Step = ComparisonPlan.Step
  private let plan = ComparisonPlan(modes: [.sequential, .parallel], runs: 2, warmUpRounds: 1)

  private func failure(_ runs: ScriptedRuns) async -> ComparisonError? {
    do throws(ComparisonError) {
      _ = try await ComparisonRunner(plan: plan).compare(execute: runs.run)
      return nil
    } catch {
      return error
    }
  }

  @Test func runsThePlanInOrderAndLeavesWarmUpsOut() async throws {
    let runs = ScriptedRuns { step in
      ScriptedRuns.observation(milliseconds: step.isWarmUp ? 9999 : step.mode == .parallel ? 100 : 400)
    }
    let told = Lock<[ComparisonPlan.Step]>([])
    let runner = ComparisonRunner(plan: plan) { news in
      if case .ran(let step, _, _) = news { told.withLock { $0.append(step) } }
    }
    let report = try await runner.compare(execute: runs.run)
    #expect(runs.made == plan.steps)
    #expect(told.withLock { $0 } == plan.steps)
    #expect(report.result(of: .sequential)?.runs.map(\.wall) == [.milliseconds(400), .milliseconds(400)])
    #expect(report.result(of: .parallel)?.runs.map(\.round) == [1, 2])
    #expect(report.conclusion?.winner == .parallel)
    #expect(report.conclusion?.speed.factor == 4)
  }

  private static let lost = DownloadError(.status, cause: .http(status: 404), address: "http://host/b")

  struct Row: Sendable {
    let step: ComparisonPlan.Step
    let observation: ComparisonRunner.Observation
    let reason: ComparisonError.Objection
  }

  private static let first = ComparisonPlan.Step(mode: .sequential, round: 1, isWarmUp: true)

  @Test(arguments: [
    Row(
      step: ComparisonPlan.Step(mode: .parallel, round: 1),
      observation: ScriptedRuns.observation(failures: [lost]), reason: .failed([lost])),
    Row(
      step: first, observation: ScriptedRuns.observation(failures: [lost]), reason: .failed([lost])),
    Row(step: first, observation: ScriptedRuns.observation(files: 0), reason: .nothingDownloaded),
    Row(
      step: ComparisonPlan.Step(mode: .parallel, round: 2),
      observation: ScriptedRuns.observation(digest: "other", names: "a b"),
      reason: .differs(.bytes(address: "a"), from: first)),
    Row(
      step: ComparisonPlan.Step(mode: .sequential, round: 1),
      observation: ScriptedRuns.observation(digest: "other", names: "b"),
      reason: .differs(.missing(address: "a"), from: first)),
    Row(
      step: ComparisonPlan.Step(mode: .parallel, round: 1, isWarmUp: true),
      observation: ScriptedRuns.observation(digest: "other"),
      reason: .differs(.bytes(address: "a"), from: first)),
  ])
  func stopsAtARunThatDidOtherWork(row: Row) async {
    let runs = ScriptedRuns { step in
      step == row.step ? row.observation : ScriptedRuns.observation()
    }
    #expect(await failure(runs) == .invalid(row.step, row.reason))
    #expect(runs.made.last == row.step)
  }

  private static let other = DownloadError(.status, cause: .http(status: 500), address: "http://host/c")

  @Test("files that fail are left out of all runs, and what was measured with them counts no more")
  func leftOut() async throws {
    let without = Lock<[Set<String>]>([])
    let runs = ScriptedRuns { _ in ScriptedRuns.observation() }
    let news = Lock<[String]>([])
    let runner = ComparisonRunner(plan: plan, isStrict: false) { event in
      news.withLock { news in
        switch event {
        case .ran(_, _, let all): news.append("\(all.count)")
        case .leftOut(let failures): news.append(failures.compactMap(\.address).joined())
        }
      }
    }
    let report = try await runner.compare { step, names, _ throws(DownloadError) in
      without.withLock { $0.append(names) }
      if !names.contains("http://host/b") { return ScriptedRuns.observation(failures: [Self.lost]) }
      // This one fails in the middle.
      if step.round == 2, !names.contains("http://host/c") {
        return ScriptedRuns.observation(failures: [Self.other])
      }
      return try await runs.run(step, names)
    }
    #expect(report.leftOut == [Self.lost, Self.other])
    #expect(report.results.map(\.times.count) == [2, 2])
    // One run, then four until the other fails, then all six.
    let sets = without.withLock { $0 }
    #expect(sets.map(\.count) == [0] + Array(repeating: 1, count: 5) + Array(repeating: 2, count: 6))
    #expect(news.withLock { $0 }.filter { $0.hasPrefix("http") } == ["http://host/b", "http://host/c"])
    #expect(news.withLock { $0 }.suffix(2) == ["3", "4"])
  }

  @Test("a list of which always another file fails comes to an end")
  func alwaysAnother() async {
    let runs = Atomic(0)
    await #expect(throws: ComparisonError.self) {
      _ = try await ComparisonRunner(plan: plan, isStrict: false).compare { _, _, _ throws(DownloadError) in
        let number = runs.wrappingAdd(1, ordering: .relaxed).newValue
        return ScriptedRuns.observation(
          failures: [DownloadError(.status, cause: .http(status: 404), address: "\(number)")])
      }
    }
    #expect(runs.load(ordering: .relaxed) == 4)
  }

  @Test("a list of which all fails is no list without its files")
  func allFail() async {
    let runs = ScriptedRuns { _ in ScriptedRuns.observation(files: 0, failures: [Self.lost]) }
    await #expect(throws: ComparisonError.invalid(Self.first, .failed([Self.lost]))) {
      _ = try await ComparisonRunner(plan: plan, isStrict: false).compare(execute: runs.run)
    }
  }

  @Test func aRunThatCannotBeMadeIsNamed() async {
    let trouble = DownloadError(.folder, activity: "making the folder")
    let step = ComparisonPlan.Step(mode: .parallel, round: 1)
    let runs = ScriptedRuns { (asked) throws(DownloadError) in
      if asked == step { throw trouble }
      return ScriptedRuns.observation()
    }
    #expect(await failure(runs) == .broken(step, trouble))
  }

  // The run waits for an hour unless cancelling reaches it.
  @Test func cancellingEndsTheRunUnderWayAndBeginsNoOther() async {
    let plan = plan
    let (begun, continuation) = AsyncStream.makeStream(of: Void.self)
    let runs = ScriptedRuns { (step) throws(DownloadError) in
      guard step.round == 2 else { return ScriptedRuns.observation() }
      continuation.yield()
      do { try await Task.sleep(for: .seconds(3600)) } catch { throw .cancelled }
      return ScriptedRuns.observation()
    }
    let comparing = Task { () -> ComparisonError? in
      do throws(ComparisonError) {
        _ = try await ComparisonRunner(plan: plan).compare(execute: runs.run)
        return nil
      } catch {
        return error
      }
    }
    for await _ in begun { break }
    comparing.cancel()
    guard case .cancelled(let measured) = await comparing.value else {
      Issue.record("the comparison was not cancelled")
      return
    }
    #expect(measured.map(\.round) == [1, 1])
    #expect(runs.made.count == 5)
  }

  // A cancelled run comes back with failed files: that must not be called a wrong download.
  @Test func aRunCutShortIsCancelledAndNotInvalid() async {
    let plan = plan
    let runs = ScriptedRuns { _ in
      withUnsafeCurrentTask { $0?.cancel() }
      return ScriptedRuns.observation(failures: [Self.lost])
    }
    let comparing = Task { () -> ComparisonError? in
      do throws(ComparisonError) {
        _ = try await ComparisonRunner(plan: plan).compare(execute: runs.run)
        return nil
      } catch {
        return error
      }
    }
    #expect(await comparing.value == .cancelled([]))
    #expect(runs.made.count == 1)
  }
}

/// Answers each step of a plan from a script, and remembers which were asked for.
final class ScriptedRuns: Sendable {
  private let steps = Lock<[ComparisonPlan.Step]>([])
  private let answer: @Sendable (ComparisonPlan.Step) async throws(DownloadError) -> ComparisonRunner.Observation

  init(_ answer: @escaping @Sendable (ComparisonPlan.Step) async throws(DownloadError) -> ComparisonRunner.Observation)
  {
    self.answer = answer
  }

  var made: [ComparisonPlan.Step] { steps.withLock { $0 } }

  func run(
    _ step: ComparisonPlan.Step, _ leftOut: Set<String> = [], _ measured: [RunMeasurement] = []
  ) async throws(DownloadError) -> ComparisonRunner.Observation {
    steps.withLock { $0.append(step) }
    let answer = try await answer(step)
    let some = answer.measurement
    return ComparisonRunner.Observation(
      RunMeasurement(mode: step.mode, round: step.round, wall: some.wall, files: some.files, bytes: some.bytes),
      failures: answer.failures, manifest: answer.manifest)
  }

  /// - Parameter names: a letter a request: "a b".
  static func observation(
    milliseconds: Int = 100, files: Int = 2, failures: [DownloadError] = [], digest: String = "same",
    names: String = "a b"
  ) -> ComparisonRunner.Observation {
    ComparisonRunner.Observation(
      RunMeasurement(mode: .sequential, round: 0, wall: .milliseconds(milliseconds), files: files, bytes: 1000),
      failures: failures,
      manifest: ContentManifest(
        files: Dictionary(
          uniqueKeysWithValues: names.utf8.filter { $0 != 0x20 }.map { letter in
            (Int(letter), (String(UnicodeScalar(letter)), digest))
          })))
  }
}
