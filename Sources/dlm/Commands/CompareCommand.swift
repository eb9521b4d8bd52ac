import ArgumentParser
import CurlTransport
import DownloadModel
import Foundation
import StrategyComparing
import TerminalProgress

struct CompareCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compare",
    abstract: "Measure the three modes on your own list.",
    discussion: """
      Downloads the list in each mode, several times over and interleaved, into a scratch folder below $TMPDIR and \
      without the cache, checks that every run got the same bytes for every address, and prints a table. Nothing is left \
      behind. Without a source: the list that the last get in this folder used. An empty list is no success (66).

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
    var settings = try Settings(
      nil, connection, .parse([]), display, try await .load(environment: environment))
    let store = RunHistoryStore(
      state: XDGFolders(environment).state, folder: FileManager.default.currentDirectoryPath)
    var (arguments, isList) = (sources, list)
    if arguments.isEmpty {
      let last = try LastList(store)
      try last.requireWithheld(connection)
      StandardError.say(["Comparing with the last list of this folder: \(TerminalText.sanitized(last.names))"]
      )
      arguments = last.history.sources
      isList = last.history.options.contains("--list")
    }
    let ledger = FailureLedger()
    let sources = arguments.map { Source($0, isList: isList) }
    settings.transport.headerHomes = Source.homes(of: sources)
    let requests = await ListReader.all(
      sources, asking: ListAtAddress.Asking(settings, environment: environment),
      onReject: { ledger.add($0) })
    StandardError.say(ledger.rejections.map { RejectionWords($0).line })
    guard !requests.isEmpty else {
      StandardError.say([ComparisonWords.emptyList])
      let rejected = ExitStatus(failures: [], rejections: ledger.rejections)
      throw ExitCode((rejected == .success ? .sourceUnreadable : rejected).rawValue)
    }
    let status = try await measuring.compare(requests, settings, environment)
    let rejected = ExitStatus(failures: [], rejections: ledger.rejections)
    throw ExitCode((status == .success ? rejected : status).rawValue)
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
    guard runs >= 1 else { throw ValidationError("--runs needs at least 1.") }
  }

  /// Measures, and prints the table on standard output.
  /// - Throws: the exit status when that cannot be written.
  func compare(
    _ requests: [DownloadRequest], _ settings: Settings, _ environment: [String: String]
  ) async throws(ExitCode) -> ExitStatus {
    let run = CompareRun(
      settings: settings, screen: ProgressScreen(settings.progress, environment: environment),
      plan: ComparisonPlan(modes: mode.isEmpty ? DownloadMode.allCases : mode, runs: runs), requests: requests
    )
    let (result, signal) = await run.run()
    switch result {
    case .success(let report):
      try StandardOutput.say(
        ComparisonWords(report, jobs: settings.jobs, adapts: settings.adaptsJobs).lines)
      return .success
    case .failure(let error):
      StandardError.say(ComparisonWords.words(error).map { "dlm: \($0)" })
      return ExitStatus(error, signal: signal)
    }
  }
}
