import Comparing
import DownloadCaching
import DownloadModel
import Downloads
import SystemPackage
import TerminalProgress

/// Downloads one list in every mode, several times, each time into an empty folder and without the cache. The
/// measurements go into the table, a picture of it, and `--report`.
struct ComparisonSession {
  private let requests: [DownloadRequest]
  private let list: String
  private let settings: Settings
  private let measuring: MeasuringOptions
  private let screen: ProgressScreen
  let plan: ComparisonPlan

  /// - Parameter list: its name in the report.
  init(
    _ requests: [DownloadRequest], of list: String, _ settings: Settings, _ measuring: MeasuringOptions
  ) {
    self.requests = requests
    self.list = list
    self.settings = settings
    self.measuring = measuring
    screen = ProgressScreen(settings.progress, environment: settings.environment)
    let modes = measuring.mode.isEmpty ? DownloadMode.strategies : measuring.mode
    plan = ComparisonPlan(
      modes: ComparedMode.all(modes, widths: settings.widths), runs: measuring.runs, warmUpRounds: measuring.warmup,
      seed: .random(in: .min ... .max))
  }

  /// - Throws: the exit status if standard output cannot be written.
  func run(onReport: (ComparisonReport) -> Void = { _ in }) async throws(ExitStatus) -> ExitStatus {
    if let trouble = settings.report?.file.obstacle {
      StandardError.say(trouble)
      return .folderUnusable
    }
    // The user chooses by `$TMPDIR` which disk is measured.
    let folder = measuring.discard ? TemporaryFolder.inMemory : TemporaryFolder.path(settings.environment)
    // A signal that ends the process at once would leave the scratch folder behind.
    let signals = Signals(.ending) { screen.restoreNow() }
    let scratch: ScratchFolder
    do { scratch = try ScratchFolder(below: folder) } catch {
      StandardError.say(TroubleMessages.temporaryFolder(folder, error))
      return .folderUnusable
    }
    let (result, signal) = await screen.runInterruptibly(early: signals) { await measure(below: scratch) }
    scratch.remove()
    switch result {
    case .success(let report):
      onReport(report)
      // Its message goes before the conclusion, which is the last.
      let isKept = keep(report)
      try show(report)
      return isKept ? ExitStatus(failures: report.leftOut, rejections: []) : .unwritten
    case .failure(let error):
      try show(error)
      return ExitStatus(error, signal: signal)
    }
  }

  // MARK: Results

  private func messages(_ report: ComparisonReport) -> ComparisonMessages {
    ComparisonMessages(report, jobs: settings.jobs, adapts: settings.adaptsJobs, inMemory: measuring.discard)
  }

  private func show(_ report: ComparisonReport) throws(ExitStatus) {
    let messages = messages(report)
    if screen.style == .json {
      // Standard output is for programs.
      StandardError.say(messages.lines())
      return try StandardOutput.say(json: [ComparisonMessages.json(ReportPages(report, facts(report)))])
    }
    let terminal = StandardOutput.terminal
    let lines = messages.lines(
      ComparisonPicture(report, on: terminal, settings.environment),
      rows: settings.shared.verbose ? nil : terminal?.rows
    ) { StandardOutput.wrapped($0.map(TerminalText.sanitized)) }
    try StandardOutput.write(lines.joined(separator: "\n") + "\n")
  }

  private func show(_ error: ComparisonError) throws(ExitStatus) {
    guard case .cancelled(let measured) = error, !measured.isEmpty else {
      return StandardError.say(ComparisonMessages.text(error).map { "dlm: \($0)" })
    }
    let runs = plan.modes.count * measuring.runs
    StandardError.say("Interrupted after \(measured.count) of \(runs) runs; so far:")
    try show(ComparisonReport(measurements: measured))
  }

  /// - Returns: false if a report was requested and could not be written.
  private func keep(_ measured: ComparisonReport) -> Bool {
    guard let report = settings.report else { return true }
    let troubles = write(measured)
    StandardError.say(troubles.isEmpty ? ["Report: \(report.file.name)"] : troubles)
    return troubles.isEmpty
  }

  /// - Returns: messages if it could not be written.
  private func write(_ report: ComparisonReport) -> [String] { settings.report?.write(report, facts(report)) ?? [] }

  private func facts(_ report: ComparisonReport) -> ReportFacts {
    let messages = messages(report)
    return ReportFacts(list: list, headline: messages.headline, notes: messages.explanations + messages.warnings)
  }

  // MARK: Measuring

  private func measure(below scratch: ScratchFolder) async -> Result<ComparisonReport, ComparisonError> {
    let runner = ComparisonRunner(plan: plan, isStrict: measuring.strict) { news in
      switch news {
      case .ran(let step, let observation, let measurements):
        if screen.style != .bars {
          settings.say([ComparisonMessages.runLine(step, observation.measurement.wall, of: plan)])
        }
        // At once, so that the measurements exist in every case.
        if !step.isWarmUp { _ = write(ComparisonReport(measurements: measurements)) }
      case .leftOut(let failures): StandardError.say(ComparisonMessages.leftOut(failures))
      }
    }
    do {
      return .success(
        try await runner.compare { step, leftOut, measured throws(DownloadError) in
          try await observe(step, leftOut, ComparisonReport(measurements: measured), below: scratch)
        })
    } catch {
      return .failure(error)
    }
  }

  private func observe(
    _ step: ComparisonPlan.Step, _ leftOut: Set<String>, _ report: ComparisonReport, below scratch: ScratchFolder
  ) async throws(DownloadError) -> ComparisonRunner.Observation {
    let name = "\(step.mode.mode.rawValue)-\(step.round)"
    let requests = leftOut.isEmpty ? requests : requests.filter { !leftOut.contains($0.address.key) }
    let feed = ProgressFeed()
    feed.listed(requests.count, complete: true)
    if let run = report.results.last?.runs.last { feed.expect(ExpectedSizes(files: run.files, bytes: run.bytes)) }
    let failures = FailureLog()
    let files = FetchedFiles()
    let recorder = RunRecorder()
    let heading = ComparisonMessages.heading(step, of: plan, report.results.isEmpty ? [] : messages(report).table)
    // Reading the files for their digests is shown, but not measured.
    let detail: ProgressFeed.Detail = screen.style == .bars || settings.shared.verbose ? .events : .totals
    let result = await screen.show(feed, detail, heading: heading) {
      () -> Result<ComparisonRunner.Observation, DownloadError> in
      do throws(DownloadError) {
        let wall = try await fetch(requests, into: name, of: scratch, step.mode, feed, files, failures, recorder)
        if Task.isCancelled { throw .cancelled }
        let fetched = files.all
        let manifest = try await MainThread.leave { () async throws(DownloadError) in
          try await Self.manifest(of: fetched, in: scratch)
        }
        try scratch.removeWhole(name)
        let measurement = RunMeasurement(
          mode: step.mode, round: step.round, wall: wall, files: Set(fetched.map(\.path)).count,
          bytes: feed.tally.bodyBytes, details: recorder.details)
        return .success(ComparisonRunner.Observation(measurement, failures: failures.failures, manifest: manifest))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  private func fetch(
    _ requests: [DownloadRequest], into name: String, of scratch: ScratchFolder, _ mode: ComparedMode,
    _ feed: ProgressFeed, _ files: FetchedFiles, _ failures: FailureLog, _ recorder: RunRecorder
  ) async throws(DownloadError) -> Duration {
    var settings = settings
    settings.output.directory = scratch.path.appending(name).string
    settings.output.cache.heldDirectory = FilePath(scratch.held(settings.output.directory))
    settings.connection.report { recorder.add($0) }
    if let jobs = mode.jobs {
      settings.jobs = jobs
      settings.adaptsJobs = false
    }
    let wiring = try await Wiring(
      settings, mode: mode.mode, files: requests.count, cacheFolder: nil, feed: feed,
      log: settings.shared.verbose ? RunLog() : nil)
    recorder.begin()
    let start = ContinuousClock.now
    async let _: Void = recorder.watchHosts(of: feed)
    let width = await wiring.run(RequestList(requests, count: requests.count)) { request, result in
      recorder.ended(request, result)
      files.ended(request, result)
      if case .failure(let error) = result { failures.add(error) }
    }
    let wall = ContinuousClock.now - start
    recorder.end(width)
    _ = await wiring.loops.close()  // without a cache there are no warnings
    return wall
  }

  /// Reads every byte, on the cooperative pool, because its time is not measured.
  @concurrent
  private static func manifest(
    of files: [FetchedFiles.File], in scratch: ScratchFolder
  ) async throws(DownloadError) -> ContentManifest {
    // Equal URLs of a list are one file.
    var digests = FileDigests(activity: "reading what was downloaded", scratch)
    var entries: [Int: (address: String, digest: String)] = [:]
    for file in files {
      entries[file.request.id] = (file.request.address.key, try digests.digest(of: file.path))
    }
    return ContentManifest(files: entries)
  }
}

extension ComparisonSession {
  /// The size and duration of a comparison: from the sizes in the list, else from earlier runs.
  struct Cost {
    let runs: Int
    let files: Int
    /// Of the list; `nil` if unknown.
    let bytes: Int64?
    /// Of all runs together; `nil` if unknown.
    var seconds: Double?

    /// Above this size, a question is asked at a terminal.
    private static let small: Int64 = 1 << 30

    /// - Parameters:
    ///   - past: the runs of this folder, the oldest first.
    ///   - listDigest: the list's.
    init(_ requests: [DownloadRequest], _ plan: ComparisonPlan, _ past: [PastRun], _ listDigest: String) {
      runs = plan.steps.count
      let own = requests.filter { !$0.isRepeat }
      files = own.count
      let earlier = past.filter { $0.listDigest == listDigest }
      let most = earlier.map(\.transferredBytes).max()
      let sizes = own.compactMap(\.expectedSize)
      var listed = ExpectedSizes()
      for size in sizes { listed.add(size) }
      bytes = sizes.count == files ? listed.bytes : most
      let whole = earlier.filter { $0.transferredBytes == most }
      let known = plan.steps.compactMap { Self.seconds(of: $0.mode.mode, whole) }
      seconds = known.count == runs ? known.reduce(0, +) : nil
      // The rate of another list's run may be similar.
      guard seconds == nil, let bytes, let rate = past.lastRate else { return }
      seconds = Double(bytes) * Double(runs) / rate
    }

    private static func seconds(of mode: DownloadMode, _ past: [PastRun]) -> Double? {
      if let own = past.last(where: { $0.mode == mode }) { return own.seconds }
      return mode == .sequential ? past.map(\.sequentialSeconds).min() : past.last { $0.mode != .sequential }?.seconds
    }

    /// Of all runs; `nil` if unknown.
    private var total: Int64? {
      guard let bytes else { return nil }
      let (product, isBeyond) = bytes.multipliedReportingOverflow(by: Int64(runs))
      return isBeyond ? .max : product
    }

    var isLarge: Bool { total ?? 0 > Self.small }

    /// `9 runs of 40 files: 90.0 GiB in all (10.0 GiB a run), about 12 min`
    var line: String {
      var size = "of unknown size"
      if let bytes, let total { size = "\(Quantity.bytes(total)) in all (\(Quantity.bytes(bytes)) a run)" }
      let time = seconds.map { ", about \(RepeatMessages.rounded($0))" } ?? ""
      return "\(Quantity.count(runs, "run", "runs")) of \(Quantity.files(files)): \(size)\(time)"
    }
  }
}
