import ArgumentParser
import Comparing
import DownloadModel
import FoundationEssentials
import SystemPackage
import TerminalProgress

struct CompareCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compare", abstract: "Measure the three modes on your own list.",
    discussion: """
      Downloads the list in each mode, several times over and interleaved, into a scratch folder below $TMPDIR and \
      without the cache, checks that every run got the same bytes for every address, and prints a table. Nothing is \
      left behind. --verbose adds a picture of each file's time, which a high window has anyway. Without a source: the \
      list that the last get in this folder used. An empty list is no success (66).

      EXAMPLES
        dlm compare urls.txt
        dlm compare urls.txt --runs 5 --jobs 32
      """)

  @Argument(help: .value("source", "A list file, - for standard input, or an address."), completion: .file())
  var sources: [String] = []

  @Flag(help: "Addresses given are those of lists.") var list = false
  @OptionGroup var lists: ListOptions
  @OptionGroup var measuring: MeasuringOptions
  @OptionGroup var shared: RunOptions

  func run() async throws {
    let environment = ProcessInfo.processInfo.environment
    let values = try SettingsSources.load(environment: environment)
    let sources = try namedOrLast(environment)
    let settings = try Settings(measuring: shared, sources, values, reading: lists)
    let failures = FailureLog()
    let reader = ListReader(
      sources, RequestMarks(form: settings.form), fetching: Wiring.listFetching(settings, environment),
      onReject: { failures.add($0) })
    let (requests, digest) = (await reader.all(), await reader.listDigest)
    StandardError.say(RejectionMessages.downgrades(await reader.downgrading))
    let rejected = failures.sayRejections()
    guard !requests.isEmpty else {
      if rejected != .sourceUnreadable {
        let lists = sources.map { TerminalText.sanitized($0.name) }.joined(separator: ", ")
        StandardError.say(["dlm: \(lists): no addresses, so there is nothing to compare"])
      }
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

  private func namedOrLast(_ environment: [String: String]) throws -> [Source] {
    if !sources.isEmpty { return sources.map { Source($0, isList: list || !lists.accept.isEmpty) } }
    let last = try LastList(RunHistoryStore(environment))
    try last.requireWithheld(shared)
    StandardError.say(["Comparing with the last list of this folder: \(TerminalText.sanitized(last.names))"])
    let isList = last.history.command.options.contains("--list")
    return last.history.command.sources.map { Source($0, isList: isList) }
  }
}

struct MeasuringOptions: ParsableArguments {
  @Option(help: .value("N", "Runs of each mode.")) var runs = 3
  @Option(help: .value("N", "Rounds before those, which are not measured.")) var warmup = 0

  @Option(
    name: [.short, .long, .customLong("modes")], parsing: .upToNextOption,
    help: .value("mode", "Only these modes (default: all but auto)."))
  var mode: [DownloadMode] = []

  @Flag(help: "End at a file that fails, instead of leaving it out of all runs.") var strict = false

  @Flag(help: "Keep disks out of it: the files of a run go to memory (/dev/shm), are checked there, and dropped.")
  var discard = false

  func validate() throws {
    if discard, !TemporaryFolder.hasMemory {
      throw ValidationError(
        "--discard needs /dev/shm, a folder in memory, which is not there or may not be written; without it the files "
          + "go to a scratch folder below $TMPDIR")
    }
    guard runs >= 1 else { throw ValidationError("--runs must be at least 1.") }
    guard warmup >= 0 else { throw ValidationError("--warmup must be at least 0.") }
  }

  /// - Throws: the exit status when standard output cannot be written.
  func compare(
    _ requests: [DownloadRequest], of list: String, _ settings: Settings, _ environment: [String: String],
    onReport: (ComparisonReport) -> Void = { _ in }
  ) async throws(ExitCode) -> ExitStatus {
    if let trouble = settings.report?.file.obstacle("--report") {
      StandardError.say([trouble])
      return .folderUnusable
    }
    let output = ComparisonOutput(
      list: list, settings: settings, environment: environment, isInMemory: discard,
      screen: ProgressScreen(settings.progress, environment: environment))
    let session = session(requests, output)
    let (result, signal): (Result<ComparisonReport, ComparisonError>, Int32?)
    do throws(Errno) {
      (result, signal) = try await session.run()
    } catch {
      StandardError.say([TroubleMessages.temporaryFolder(session.temporaryFolder, error)])
      return .folderUnusable
    }
    switch result {
    case .success(let report):
      onReport(report)
      // Its word goes before the verdict, which is the last.
      let isKept = output.keep(report)
      try output.show(report)
      return isKept ? ExitStatus(failures: report.leftOut, rejections: []) : .unwritten
    case .failure(let error):
      try output.show(error, runs: session.plan.modes.count * runs)
      return ExitStatus(error, signal: signal)
    }
  }

  private func session(_ requests: [DownloadRequest], _ output: ComparisonOutput) -> ComparisonSession {
    let compared = ComparedMode.all(mode.isEmpty ? DownloadMode.strategies : mode, widths: output.settings.widths)
    return ComparisonSession(
      settings: output.settings, screen: output.screen,
      plan: ComparisonPlan(modes: compared, runs: runs, warmUpRounds: warmup, seed: .random(in: .min ... .max)),
      isStrict: strict, requests: requests,
      temporaryFolder: discard ? TemporaryFolder.inMemory : TemporaryFolder.path(output.environment),
      table: { output.messages($0).table },
      // Written at once, so that what was measured is there however this ends.
      onMeasured: { _ = output.write(ComparisonReport(measurements: $0)) })
  }
}

/// Where what was measured goes: the table, a picture of it, and `--report`.
private struct ComparisonOutput {
  let list: String
  let settings: Settings
  let environment: [String: String]
  let isInMemory: Bool
  let screen: ProgressScreen

  func messages(_ report: ComparisonReport) -> ComparisonMessages {
    ComparisonMessages(report, jobs: settings.jobs, adapts: settings.adaptsJobs, inMemory: isInMemory)
  }

  func show(_ report: ComparisonReport) throws(ExitCode) {
    let messages = messages(report)
    if screen.style == .json {
      // Standard output is for programs.
      StandardError.say(messages.lines())
      return try StandardOutput.write(ComparisonMessages.json(ReportPages(report, facts(report))))
    }
    let terminal = StandardOutput.terminal
    let lines = messages.lines(
      ComparisonPicture(report, on: terminal, environment), rows: settings.isVerbose ? nil : terminal?.rows
    ) { StandardOutput.wrapped($0.map { TerminalText.sanitized($0) }) }
    try StandardOutput.write(lines.joined(separator: "\n") + "\n")
  }

  func show(_ error: ComparisonError, runs: Int) throws(ExitCode) {
    guard case .cancelled(let measured) = error, !measured.isEmpty else {
      return StandardError.say(ComparisonMessages.text(error).map { "dlm: \($0)" })
    }
    StandardError.say(["Interrupted after \(measured.count) of \(runs) runs; what they say:"])
    try show(ComparisonReport(measurements: measured))
  }

  /// - Returns: false if the report is wanted and could not be written.
  func keep(_ measured: ComparisonReport) -> Bool {
    guard let report = settings.report else { return true }
    let troubles = write(measured)
    StandardError.say(troubles.isEmpty ? ["Report: \(TerminalText.sanitized(report.file.name))"] : troubles)
    return troubles.isEmpty
  }

  /// - Returns: what to say where it could not be written.
  func write(_ report: ComparisonReport) -> [String] { settings.report?.write(report, facts(report)) ?? [] }

  private func facts(_ report: ComparisonReport) -> ReportFacts {
    let messages = messages(report)
    return ReportFacts(list: list, headline: messages.headline, notes: messages.explanations + messages.warnings)
  }
}
