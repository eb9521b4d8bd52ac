import ArgumentParser
import DownloadCaching
import DownloadModel
import SystemPackage

struct AddCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: "Add URLs to the download that is running in this folder, or change its limits.",
    discussion: """
      EXAMPLES
        dlm add https://example.org/a.iso
        dlm add -d data https://example.org/b.iso https://example.org/c.iso
        dlm add --limit-rate 2M

      They are downloaded like further lines of its list; URLs that it already has are not downloaded twice. Without \
      -d, the run is the one that downloads into this folder or was started in it. A run with --no-cache takes none.
      """)

  @Argument(help: .value("url", "What to download.")) var addresses: [String] = []
  @Option(
    name: OptionTable.row("directory").names, help: .value("dir", "The folder of that run."), completion: .directory)
  var directory: String?
  @Option(
    name: OptionTable.row("limit-rate").names,
    help: .value("rate", "Limit the run to this from now on: 500K, HOST=2M, none; may be repeated"))
  var limitRate: [RateLimit] = []

  /// Starts the line of a new limit; the rest is an argument of `RateLimit`. Such lines stand before URLs.
  static let limitMark = "limit-rate "

  private var lines: [String] { limitRate.map { Self.limitMark + $0.description } + addresses }

  func run() async throws {
    if lines.isEmpty { throw ValidationError("dlm add needs a URL, or --limit-rate") }
    if limitRate.contains(where: { $0.hours != nil }) {
      throw ValidationError("a limit that changes with the clock is an option of dlm get: give a rate without hours")
    }
    if let text = addresses.first(where: { !Source.isFetchable($0) }) {
      let text = Redaction.redactedAddress(text)
      throw ValidationError("\"\(text)\" is not a URL (https://…); dlm get \(text) downloads a list")
    }
    let get = try GetCommand.parse(directory.map { ["--directory=\($0)"] } ?? [])
    var folder = try Settings(get, [], .load()).output.directory
    let path = RunMemory.canonical(folder) ?? folder
    guard let state = XDGFolders().state.map(RunningSnapshots.folder(below:)) else {
      throw ValidationError(UsageMessages.noRun(in: folder))
    }
    // A run that has just started is found after its first second.
    for _ in 0..<30 {
      let runs = RunningDownloads.all(in: state)
      var found = runs.filter { $0.directory == path }
      if found.isEmpty, directory == nil {
        found = try Self.startedHere(runs)
        folder = found.first?.directory ?? folder
      }
      for run in found {
        if let files = try await add(to: run, in: state) {
          let run = "the run in \(folder)"
          let limits = limitRate.isEmpty ? [] : [QuestionMessages.limited(limitRate, run)]
          return try StandardOutput.say(limits + (addresses.isEmpty ? [] : [QuestionMessages.added(files, to: run)]))
        }
      }
      try await Task.sleep(for: .milliseconds(50))
    }
    throw ValidationError(UsageMessages.noRun(in: folder))
  }

  /// - Returns: the number of new URLs and of known ones; `nil` if the run has ended.
  private func add(to run: RunningDownloads, in state: FilePath) async throws(Refusal) -> (added: Int, known: Int)? {
    do { return try await run.add(lines, in: state) } catch {
      throw Refusal(
        "dlm: nothing was added: \(state) cannot be written: \(error); mend that and add again, or dlm get them "
          + "afterwards")
    }
  }

  /// - Throws: `ValidationError` if they download into several folders.
  private static func startedHere(_ runs: [RunningDownloads]) throws -> [RunningDownloads] {
    let here = RunMemory.canonical(".")
    let found = runs.filter { $0.startedIn == here }
    let folders = Set(found.map(\.directory)).sorted()
    guard folders.count > 1 else { return found }
    throw ValidationError(
      "several downloads were started in this folder; choose one with -d: \(folders.joined(separator: ", "))")
  }
}
