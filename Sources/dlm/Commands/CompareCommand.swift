import ArgumentParser
import DownloadModel
import FoundationEssentials
import StrategyComparing
import TerminalProgress

struct CompareCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compare",
    abstract: "Measure the three modes on your own list.",
    discussion: """
      Downloads the list in each mode, several times over and interleaved, into a scratch folder below \
      $TMPDIR and without the cache, checks that every run got the same bytes for every address, and prints \
      a table. Nothing is left behind. Without a source: the list that the last get in this folder used. An \
      empty list is no success (66).

      EXAMPLES
        dlm compare urls.txt
        dlm compare urls.txt --runs 5 --jobs 32
      """)

  @Argument(
    help: ArgumentHelp("A list file, - for standard input, or an address.", valueName: "source"),
    completion: .file())
  var sources: [String] = []

  @Flag(help: "Addresses given are those of lists.")
  var list = false

  @OptionGroup var measuring: MeasuringOptions
  @OptionGroup(title: "Connections") var connection: ConnectionOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  func run() async throws {
    let environment = ProcessInfo.processInfo.environment
    var settings = try Settings(measuring: connection, display, try await .load(environment: environment))
    let sources = try namedOrLast(environment)
    settings.connection.sendHeaders(to: Source.homes(of: sources))
    let failures = FailureLog()
    let requests = await ListReader.all(
      sources, fetching: Wiring.listFetching(settings, environment), onReject: { failures.add($0) })
    StandardError.say(failures.rejections.map { RejectionMessages($0).line })
    let rejected = ExitStatus(failures: [], rejections: failures.rejections)
    guard !requests.isEmpty else {
      StandardError.say([ComparisonMessages.emptyList])
      throw ExitCode((rejected == .success ? .sourceUnreadable : rejected).rawValue)
    }
    let status = try await measuring.compare(requests, settings, environment)
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
  @Option(help: ArgumentHelp("Runs of each mode.", valueName: "N"))
  var runs = 3

  @Option(
    name: .shortAndLong, parsing: .upToNextOption,
    help: ArgumentHelp("Only these modes.", valueName: "mode"))
  var mode: [DownloadMode] = []

  func validate() throws {
    guard runs >= 1 else { throw ValidationError(UsageMessages.noRuns) }
  }

  /// Measures, and prints the table on standard output.
  /// - Throws: the exit status when that cannot be written.
  func compare(
    _ requests: [DownloadRequest], _ settings: Settings, _ environment: [String: String]
  ) async throws(ExitCode) -> ExitStatus {
    let session = ComparisonSession(
      settings: settings, screen: ProgressScreen(settings.progress, environment: environment),
      plan: ComparisonPlan(modes: mode.isEmpty ? DownloadMode.allCases : mode, runs: runs),
      requests: requests,
      temporaryFolder: TemporaryFolder.path(environment))
    let (result, signal) = await session.run()
    switch result {
    case .success(let report):
      try StandardOutput.say(
        ComparisonMessages(report, jobs: settings.jobs, adapts: settings.adaptsJobs).lines)
      return .success
    case .failure(let error):
      StandardError.say(ComparisonMessages.text(error).map { "dlm: \($0)" })
      return ExitStatus(error, signal: signal)
    }
  }
}
