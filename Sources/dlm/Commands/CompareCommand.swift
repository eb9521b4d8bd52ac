import ArgumentParser
import DownloadModel
import FoundationEssentials
import ReportPages
import StrategyComparing
import SystemPackage
import TerminalProgress

struct CompareCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compare", abstract: "Measure the three modes on your own list.",
    discussion: """
      Downloads the list in each mode, several times over and interleaved, into a scratch folder below \
      $TMPDIR and without the cache, checks that every run got the same bytes for every address, and prints \
      a table. Nothing is left behind. Without a source: the list that the last get in this folder used. An \
      empty list is no success (66).

      EXAMPLES
        dlm compare urls.txt
        dlm compare urls.txt --runs 5 --jobs 32
      """)

  @Argument(help: .value("source", "A list file, - for standard input, or an address."), completion: .file())
  var sources: [String] = []

  @Flag(help: "Addresses given are those of lists.")
  var list = false

  @OptionGroup var measuring: MeasuringOptions
  @OptionGroup(title: "Connections") var connection: ConnectionOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  func run() async throws {
    let environment = ProcessInfo.processInfo.environment
    let values = try await SettingsSources.load(environment: environment)
    let sources = try namedOrLast(environment)
    let settings = try Settings(measuring: connection, display, sources, values)
    let failures = FailureLog()
    let reader = ListReader(
      sources, fetching: Wiring.listFetching(settings, environment), onReject: { failures.add($0) })
    let (requests, digest) = (await reader.all(), await reader.listDigest)
    StandardError.say(RejectionMessages.downgrades(await reader.downgrading))
    StandardError.say(failures.rejections.map { RejectionMessages($0).line })
    let rejected = ExitStatus(failures: [], rejections: failures.rejections)
    guard !requests.isEmpty else {
      StandardError.say([ComparisonMessages.emptyList])
      throw ExitCode((rejected == .success ? .sourceUnreadable : rejected).rawValue)
    }
    let store = RunHistoryStore(environment)
    let names = sources.compactMap { RunMemory.name(of: $0, store) }
    let status = try await measuring.compare(
      requests, of: names.joined(separator: " "), settings, environment
    ) { report in
      let past = PastRun.all(of: report, settings, sources: names, listDigest: digest)
      do throws(Errno) { try store.append(past.map { .ended(run: nil, $0) }) } catch {
        RunLog(isVerbose: false).historyNotSaved(error)
      }
    }
    throw ExitCode((status == .success ? rejected : status).rawValue)
  }

  /// The sources that are named, else those of the last `get` in this folder.
  private func namedOrLast(_ environment: [String: String]) throws -> [Source] {
    if !sources.isEmpty { return sources.map { Source($0, isList: list) } }
    let last = try LastList(RunHistoryStore(environment))
    try last.requireWithheld(connection)
    StandardError.say([ComparisonMessages.again(last)])
    let isList = last.history.command.options.contains("--list")
    return last.history.command.sources.map { Source($0, isList: isList) }
  }
}

/// What `compare` and `demo` measure, and how often.
struct MeasuringOptions: ParsableArguments {
  @Option(help: .value("N", "Runs of each mode."))
  var runs = 3

  @Option(help: .value("N", "Rounds before those, which are not measured."))
  var warmup = 0

  @Option(
    name: [.short, .long, .customLong("modes")], parsing: .upToNextOption,
    help: .value("mode", "Only these modes (default: all but auto)."))
  var mode: [DownloadMode] = []

  @Flag(help: "End at a file that fails, instead of leaving it out of all runs.")
  var strict = false

  @Flag(help: "Keep disks out of it: the files of a run go to memory (/dev/shm), are checked there, and dropped.")
  var discard = false

  func validate() throws {
    if discard, !TemporaryFolder.hasMemory { throw ValidationError(UsageMessages.noMemoryFolder) }
    guard runs >= 1 else { throw ValidationError(UsageMessages.noRuns) }
    guard warmup >= 0 else { throw ValidationError(UsageMessages.negativeWarmUps) }
  }

  /// Measures, and prints the table on standard output.
  /// - Throws: the exit status when that cannot be written.
  /// - Parameter list: as messages name it.
  func compare(
    _ requests: [DownloadRequest], of list: String, _ settings: Settings, _ environment: [String: String],
    onReport: (ComparisonReport) -> Void = { _ in }
  ) async throws(ExitCode) -> ExitStatus {
    if let file = settings.report, let why = file.obstacle {
      StandardError.say([TroubleMessages.notWritten(file.name, why, option: "--report")])
      return .diskFailed
    }
    let compared = ComparedMode.all(mode.isEmpty ? DownloadMode.strategies : mode, widths: settings.widths)
    let plan = ComparisonPlan(modes: compared, runs: runs, warmUpRounds: warmup, seed: .random(in: .min ... .max))
    let temporaryFolder = discard ? TemporaryFolder.inMemory : TemporaryFolder.path(environment)
    let screen = ProgressScreen(settings.progress, environment: environment)
    let session = ComparisonSession(
      settings: settings, screen: screen, plan: plan, failing: strict ? .fatal : .leftOut, requests: requests,
      temporaryFolder: temporaryFolder,
      table: { [settings] in ComparisonMessages($0, jobs: settings.jobs, adapts: settings.adaptsJobs).table },
      // So that what was measured is there, however this ends.
      onMeasured: { [report = settings.report] measured in
        _ = report.map { write(ComparisonReport(measurements: measured), of: list, settings, to: $0) }
      })
    let (result, signal): (Result<ComparisonReport, ComparisonError>, Int32?)
    do throws(Errno) {
      (result, signal) = try await session.run()
    } catch {
      StandardError.say([TroubleMessages.temporaryFolder(temporaryFolder, error)])
      return .folderUnusable
    }
    switch result {
    case .success(let report):
      onReport(report)
      try show(report, of: list, settings, screen, environment)
      guard keep(report, of: list, settings) else { return .unwritten }
      return ExitStatus(failures: report.leftOut.map(\.error), rejections: [])
    case .failure(.cancelled(let measured)) where !measured.isEmpty:
      StandardError.say([ComparisonMessages.interrupted(after: measured.count, of: plan.modes.count * runs)])
      try show(ComparisonReport(measurements: measured), of: list, settings, screen, environment)
      return ExitStatus(.cancelled(measured), signal: signal)
    case .failure(let error):
      StandardError.say(ComparisonMessages.text(error).map { "dlm: \($0)" })
      return ExitStatus(error, signal: signal)
    }
  }

  /// Writes `--report`, and says so.
  /// - Returns: false if it is wanted and could not be written.
  private func keep(_ report: ComparisonReport, of list: String, _ settings: Settings) -> Bool {
    guard let file = settings.report else { return true }
    let trouble = write(report, of: list, settings, to: file)
    StandardError.say([trouble ?? ComparisonMessages.written(file)])
    return trouble == nil
  }

  private func show(
    _ report: ComparisonReport, of list: String, _ settings: Settings, _ screen: ProgressScreen,
    _ environment: [String: String]
  ) throws(ExitCode) {
    let messages = messages(report, settings)
    if screen.style == .json {
      // Standard output is for programs.
      StandardError.say(screen.wrapped(messages.lines))
      return try StandardOutput.write(ComparisonMessages.json(ReportPages(report, facts(report, of: list, settings))))
    }
    try StandardOutput.say(StandardOutput.wrapped(messages.lines))
    if let picture = ComparisonPicture(report, on: StandardOutput.terminal, environment) {
      try StandardOutput.write((["", ""] + picture.lines).joined(separator: "\n") + "\n")
    }
  }

  private func messages(_ report: ComparisonReport, _ settings: Settings) -> ComparisonMessages {
    ComparisonMessages(report, jobs: settings.jobs, adapts: settings.adaptsJobs, inMemory: discard)
  }

  /// - Returns: what to say where it could not be written.
  private func write(
    _ report: ComparisonReport, of list: String, _ settings: Settings, to file: ReportFile
  ) -> String? {
    file.write(report, facts(report, of: list, settings))
  }

  private func facts(_ report: ComparisonReport, of list: String, _ settings: Settings) -> ReportFacts {
    let messages = messages(report, settings)
    return ReportFacts(
      list: list, command: "dlm compare", headline: messages.headline, notes: messages.explanations + messages.warnings)
  }
}
