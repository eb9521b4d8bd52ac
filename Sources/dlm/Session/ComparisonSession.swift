import Comparing
import DownloadModel
import Downloads
import Synchronization
import SystemPackage
import TerminalProgress

/// Downloads one list in every mode, several times over, each time into an empty folder and without the cache.
struct ComparisonSession: Sendable {
  let settings: Settings
  let screen: ProgressScreen
  let plan: ComparisonPlan
  /// Whether a file that fails ends the comparison.
  let isStrict: Bool
  let requests: [DownloadRequest]
  /// The user chooses by `$TMPDIR` which disk is measured.
  let temporaryFolder: String
  let table: @Sendable (ComparisonReport) -> [String]
  let onMeasured: @Sendable ([RunMeasurement]) -> Void

  /// - Returns: the report, or why there is none; and the signal that ended it.
  /// - Throws: Errno of the temporary folder.
  func run() async throws(Errno) -> (Result<ComparisonReport, ComparisonError>, signal: Int32?) {
    // A signal that ends the process at once would leave the scratch folder behind.
    let signals = Signals(.ending) { screen.restoreNow() }
    let scratch = try ScratchFolder(below: temporaryFolder)
    defer { scratch.remove() }
    return await screen.runInterruptibly(early: signals) { await measure(below: scratch.path) }
  }

  private func measure(below scratch: FilePath) async -> Result<ComparisonReport, ComparisonError> {
    let measured = Lock<[RunMeasurement]>([])
    let runner = ComparisonRunner(plan: plan, isStrict: isStrict) { news in
      switch news {
      case .ran(let step, let observation, let measurements):
        if screen.style != .bars, !settings.isSilent {
          StandardError.say([ComparisonMessages.runLine(step, observation.measurement.wall, of: plan)])
        }
        measured.withLock { $0 = measurements }
        if !step.isWarmUp { onMeasured(measurements) }
      case .leftOut(let failures):
        measured.withLock { $0 = [] }
        StandardError.say(ComparisonMessages.leftOut(failures))
      }
    }
    do throws(ComparisonError) {
      return .success(
        try await runner.compare { step, leftOut throws(DownloadError) in
          let report = ComparisonReport(measurements: measured.withLock { $0 })
          return try await observe(step, leftOut, report, below: scratch)
        })
    } catch {
      return .failure(error)
    }
  }

  private func observe(
    _ step: ComparisonPlan.Step, _ leftOut: Set<String>, _ report: ComparisonReport, below scratch: FilePath
  ) async throws(DownloadError) -> RunObservation {
    let folder = scratch.appending("\(step.mode.mode.rawValue)-\(step.round)")
    let requests = leftOut.isEmpty ? requests : requests.filter { !leftOut.contains($0.address.key) }
    let feed = ProgressFeed()
    feed.listed(requests.count, complete: true)
    if let run = report.results.last?.runs.last { feed.expect(ExpectedSizes(files: run.files, bytes: run.bytes)) }
    let (failures, files, recorder) = (FailureLog(), FetchedFiles(), RunRecorder())
    let heading = ComparisonMessages.heading(step, of: plan, report.results.isEmpty ? [] : table(report))
    // Reading the files for their digests is shown, but not measured.
    let result = await screen.show(feed, screen.style == .bars ? .events : .totals, heading: heading) {
      () -> Result<RunObservation, DownloadError> in
      do throws(DownloadError) {
        let wall = try await fetch(requests, into: folder, step.mode, feed, files, failures, recorder)
        if Task.isCancelled { throw .cancelled }
        let fetched = files.all
        let manifest = try await Self.manifest(of: fetched)
        try ScratchFolder.removeWhole(folder)
        let measurement = RunMeasurement(
          mode: step.mode, round: step.round, wall: wall, files: Set(fetched.map(\.path)).count,
          bytes: feed.tally.bodyBytes, details: recorder.details)
        return .success(RunObservation(measurement, failures: failures.failures, manifest: manifest))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  private func fetch(
    _ requests: [DownloadRequest], into folder: FilePath, _ mode: ComparedMode, _ feed: ProgressFeed,
    _ files: FetchedFiles, _ failures: FailureLog, _ recorder: RunRecorder
  ) async throws(DownloadError) -> Duration {
    var settings = settings
    settings.output.directory = folder.string
    settings.connection.report { recorder.add($0) }
    if let jobs = mode.jobs { (settings.jobs, settings.adaptsJobs) = (jobs, false) }
    let wiring = try await Wiring(
      settings, mode: mode.mode, files: requests.count, cacheFolder: nil, feed: feed,
      log: RunLog(isVerbose: settings.isVerbose))
    recorder.begin()
    let start = ContinuousClock.now
    async let _: Void = recorder.watchHosts(of: feed)
    let width = await wiring.run(RequestList(requests, count: requests.count)) { request, result in
      recorder.ended(request, result)
      files.ended(request, result)
      if case .failure(let error) = result { failures.add(error) }
    }
    let wall = start.duration(to: .now)
    recorder.end(mostAtOnce: width.peak)
    _ = await wiring.loops.close()  // without a cache there is nothing to be warned of
    return wall
  }

  /// Reads every byte, on the cooperative pool: its time is not measured.
  @concurrent
  private static func manifest(of files: [FetchedFiles.File]) async throws(DownloadError) -> ContentManifest {
    // Equal addresses of a list are one file.
    var digests = FileDigests(activity: "reading what was downloaded")
    var entries: [Int: (address: String, digest: String)] = [:]
    for file in files {
      entries[file.request.id] = (file.request.address.key, try digests.digest(of: file.path))
    }
    return ContentManifest(files: entries)
  }
}
