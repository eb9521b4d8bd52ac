import ArgumentParser
import DownloadCaching
import DownloadModel
import SystemPackage

struct AddCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: "Add URLs to the download that is running in this folder.",
    discussion: """
      EXAMPLES
        dlm add https://example.org/a.iso
        dlm add -d data https://example.org/b.iso https://example.org/c.iso

      They are downloaded like further lines of its list; URLs that it already has are not downloaded twice. Without \
      -d, the run is the one that downloads into this folder or was started in it. A run with --no-cache takes none.
      """)

  @Argument(help: .value("url", "What to download.")) var addresses: [String]
  @Option(
    name: OptionTable.row("directory").names, help: .value("dir", "The folder of that run."), completion: .directory)
  var directory: String?

  func run() async throws {
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
          return try StandardOutput.say([QuestionMessages.added(files, to: "the run in \(folder)")])
        }
      }
      try await Task.sleep(for: .milliseconds(50))
    }
    throw ValidationError(UsageMessages.noRun(in: folder))
  }

  /// - Returns: the number of new URLs and of known ones; `nil` if the run has ended.
  private func add(to run: RunningDownloads, in state: FilePath) async throws(Refusal) -> (added: Int, known: Int)? {
    do { return try await run.add(addresses, in: state) } catch {
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
