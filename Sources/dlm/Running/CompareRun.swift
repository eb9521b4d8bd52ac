import DownloadModel
import Foundation
import Glibc
import StrategyComparing
import SystemPackage
import TerminalProgress

/// Downloads one list in every mode, several times over, each time into an empty folder and without the cache.
struct CompareRun: Sendable {
  let settings: Settings
  let screen: ProgressScreen
  let plan: ComparisonPlan
  let requests: [DownloadRequest]

  /// - Returns: the report, or why there is none; and the signal that ended it.
  func run() async -> (Result<ComparisonReport, ComparisonError>, signal: Int32?) {
    let result = OnceCell<Result<ComparisonReport, ComparisonError>>()
    let signal = await Interruptible.run(screen) {
      result.set(await measure())
    }
    return (result.value ?? .failure(.cancelled([])), signal)
  }

  private func measure() async -> Result<ComparisonReport, ComparisonError> {
    let runner = ComparisonRunner(plan: plan) { step, observation in
      StandardError.say([ComparisonWords.runLine(step, observation, of: plan)])
    }
    do throws(ComparisonError) {
      let scratch = try ScratchFolder()
      defer { scratch.remove() }
      return .success(
        try await runner.compare { step throws(DownloadError) in try await observe(step, below: scratch.path)
        })
    } catch {
      return .failure(error)
    }
  }

  private func observe(_ step: ComparisonPlan.Step, below scratch: FilePath) async throws(DownloadError)
    -> RunObservation
  {
    let folder = scratch.appending("\(step.mode.rawValue)-\(step.round)")
    var settings = settings
    settings.directory = folder.string
    let board = ProgressBoard(isWatched: false)
    board.listed(requests.count, complete: true)
    let ledger = FailureLedger()
    let wiring = try await Wiring(
      settings, mode: step.mode, files: requests.count, cacheFolder: nil, board: board)
    let wall = OnceCell<Duration>()
    let files = FetchedFiles()
    await screen.show(board) {
      let start = ContinuousClock.now
      _ = await wiring.run(RequestList(requests)) { request, result in
        switch result {
        case .success(let outcome): files.add(request, outcome)
        case .failure(let error): ledger.add(error)
        }
      }
      wall.set(start.duration(to: .now))
    }
    _ = await wiring.close()  // without a cache there is nothing to be warned of
    if Task.isCancelled { throw .cancelled }
    let fetched = files.all
    let manifest = try await RunManifest.read(fetched)
    try ScratchFolder.remove(folder)
    return RunObservation(
      wall: wall.value ?? .zero, bytes: board.counter.value, files: Set(fetched.map(\.path)).count,
      failures: ledger.failures.map { RunFailure(address: $0.address ?? "", error: $0) },
      contentDigest: RunManifest.digest(of: manifest), manifest: manifest)
  }
}
